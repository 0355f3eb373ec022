# The verbs. Promises are written as on the command line: "k_anonymity:5".

described <- function(data, quasi, sensitive, drop, keep, weight, person) {
  roles <- list(quasi = quasi, sensitive = sensitive, drop = drop, keep = keep, weight = weight,
                person = person)
  given <- lapply(roles[lengths(roles) > 0], as_names)
  table <- python_sfumato()$read(to_python(data))
  do.call(table$with_roles, given)
}

result <- function(object, class = character(), ...) {
  structure(list(python = object, ...), class = c(class, "sfumato_result"))
}

#' Show what an intruder can do with a table as it is
#'
#' @param data a data.frame
#' @param quasi names of columns that outsiders may know
#' @param sensitive names of columns worth protecting
#' @param drop names of direct identifiers
#' @param keep names of columns that stay as they are
#' @param weight,person names of a survey weight and of the column that tells persons apart
#' @return the assessment; its `figures` are a list of numbers
#' @export
assess <- function(data, quasi, sensitive = NULL, drop = NULL, keep = NULL, weight = NULL,
                   person = NULL) {
  table <- described(data, quasi, sensitive, drop, keep, weight, person)
  found <- python_sfumato()$assess(table)
  result(found, figures = reticulate::py_to_r(found$to_dict()))
}

#' Make a release of a table
#'
#' @inheritParams assess
#' @param meet promises, like `c("k_anonymity:5", "l_diversity:diagnosis,l=2")`
#' @param steps names of steps, or NULL for what sfumato takes by default
#' @param seed a hexadecimal text, to repeat a run; short ones mark a rehearsal
#' @return a release; [release_frame()] gives its data
#' @export
anonymize <- function(data, meet, quasi, sensitive = NULL, drop = NULL, keep = NULL, weight = NULL,
                      person = NULL, steps = NULL, seed = NULL) {
  table <- described(data, quasi, sensitive, drop, keep, weight, person)
  arguments <- list(table, as_names(meet))
  if (!is.null(steps)) arguments <- c(arguments, list(as_names(steps)))
  if (!is.null(seed)) arguments$seed <- seed
  result(do.call(python_sfumato()$anonymize, arguments), "sfumato_release", like = data)
}

#' The data of a release
#'
#' @param release what [anonymize()] made
#' @return a data.frame
#' @export
release_frame <- function(release) {
  from_python(release$python$released$to_native(), release$like)
}

#' Let intruders try the attacks of the literature on a release
#'
#' @param release what [anonymize()] made
#' @param seconds how long they may try
#' @export
attack <- function(release, seconds = 20) {
  result(release$python$attack(seconds = seconds))
}

#' Measure what a release still gives to analysts
#'
#' @param release what [anonymize()] made
#' @export
evaluate <- function(release) {
  result(release$python$evaluate())
}

#' Write a release: what to share and what to keep
#'
#' @param release what [anonymize()] made
#' @param folder the folder
#' @param force replace an earlier release
#' @export
write_release <- function(release, folder, force = FALSE) {
  release$python$write(normalizePath(folder, mustWork = FALSE), force = force)
  invisible(folder)
}

#' Recompute what a certificate claims
#'
#' @param folder the shared folder
#' @param key a public key (PEM) that you trust, or NULL
#' @return `result` is "verified", "false" or "not all verified"; unknown is no pass
#' @export
verify <- function(folder, key = NULL) {
  arguments <- list(normalizePath(folder))
  if (!is.null(key)) arguments$trusted_key <- normalizePath(key)
  found <- do.call(python_sfumato()$verify, arguments)
  result(found, result = reticulate::py_to_r(found$result))
}

#' Find the release that loses least, attack it, verify it, and decide who may have it
#'
#' @param data a data.frame
#' @param ... keywords of the Python function `sf.protect`, like `recipient = "researchers"`
#' @export
protect <- function(data, ...) {
  result(python_sfumato()$protect(to_python(data), ...))
}

#' @export
print.sfumato_result <- function(x, ...) {
  cat(reticulate::py_str(x$python), "\n", sep = "")
  invisible(x)
}

#' @export
print.sfumato_release <- print.sfumato_result
