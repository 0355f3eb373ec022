# An object in the manner of sdcMicro: roles are said once, releases follow one another, each can be
# undone. Nothing changes in place: every call gives a new object.

#' A table whose protection is tried step by step
#'
#' @inheritParams assess
#' @return an object for [sdc_step()] and [undo()]; `releases` are those made so far
#' @export
sdc <- function(data, quasi, sensitive = NULL, drop = NULL, keep = NULL, weight = NULL,
                person = NULL) {
  roles <- list(quasi = quasi, sensitive = sensitive, drop = drop, keep = keep, weight = weight,
                person = person)
  structure(list(data = data, roles = roles, releases = list()), class = "sfumato_sdc")
}

#' Make a release of the original with other promises or steps
#'
#' Every release is made from the original: protection on top of protection loses more and promises
#' no more.
#' @param object what [sdc()] made
#' @inheritParams anonymize
#' @export
sdc_step <- function(object, meet, steps = NULL, seed = NULL) {
  how <- c(list(object$data, meet), object$roles, list(steps = steps, seed = seed))
  object$releases <- c(object$releases, list(do.call(anonymize, how)))
  object
}

#' The object before the last step
#'
#' @param object what [sdc_step()] made
#' @export
undo <- function(object) {
  if (!length(object$releases)) stop("there is no step to undo", call. = FALSE)
  object$releases <- utils::head(object$releases, -1)
  object
}

#' @export
print.sfumato_sdc <- function(x, ...) {
  cat(nrow(x$data), "records,", length(x$releases), "step(s)\n")
  if (length(x$releases)) print(x$releases[[length(x$releases)]])
  invisible(x)
}
