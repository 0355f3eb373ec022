# The Python package, loaded when it is first needed, and data frames on their way there and back.

state <- new.env(parent = emptyenv())

#' Use a Python that has sfumato
#'
#' Call this first where reticulate would take another Python.
#' @param python the path of a Python in which `pip install 'sfumato[pandas]'` was done
#' @return the version of sfumato
#' @export
use_sfumato <- function(python = NULL) {
  if (!is.null(python)) reticulate::use_python(python, required = TRUE)
  reticulate::py_to_r(python_sfumato()$`__version__`)
}

python_sfumato <- function() {
  if (is.null(state$module)) {
    if (!reticulate::py_module_available("sfumato")) {
      stop("Python has no package sfumato; run pip install 'sfumato[pandas]', then ",
           "use_sfumato(\"/path/to/python\")", call. = FALSE)
    }
    state$module <- reticulate::import("sfumato", convert = FALSE)
    state$pandas <- reticulate::import("pandas", convert = FALSE)
  }
  state$module
}

# A list of Python, whatever its length: reticulate makes one text a text.
as_names <- function(names) reticulate::r_to_py(as.list(as.character(names)))

# A column as Python shall see it. Labels of haven and levels of a factor are what values mean, so
# they go as text.
simplified <- function(column) {
  if (inherits(column, "haven_labelled")) {
    known <- attr(column, "labels", exact = TRUE)
    values <- as.vector(unclass(column))
    position <- match(values, as.vector(known))
    text <- ifelse(is.na(position), as.character(values), names(known)[position])
    text[is.na(values)] <- NA_character_
    return(text)
  }
  if (is.factor(column) || inherits(column, "Date")) return(as.character(column))
  if (inherits(column, "POSIXt")) return(format(column, "%Y-%m-%dT%H:%M:%S"))
  if (is.list(column)) stop("a column is a list; make it columns of single values", call. = FALSE)
  as.vector(column)
}

# Missing values stay missing in columns of every type.
python_column <- function(column) {
  values <- simplified(column)
  kind <- switch(typeof(values), integer = "Int64", double = "Float64", logical = "boolean",
                 character = "string", stop("a column is neither number, text nor logical"))
  parts <- lapply(seq_along(values), function(i) if (is.na(values[[i]])) NULL else values[[i]])
  state$pandas$Series(reticulate::r_to_py(parts), dtype = kind)
}

to_python <- function(data) {
  python_sfumato()
  if (!is.data.frame(data)) stop("give a data.frame", call. = FALSE)
  if (anyDuplicated(names(data))) stop("names of columns repeat", call. = FALSE)
  columns <- reticulate::dict(convert = FALSE)
  for (name in names(data)) reticulate::py_set_item(columns, name, python_column(data[[name]]))
  state$pandas$DataFrame(columns)
}

# A frame of Python as a data.frame; variable labels of the original come back.
from_python <- function(frame, like = NULL) {
  frame <- frame$astype("object")
  frame <- frame$where(frame$notna(), NULL)
  names_in_order <- unlist(reticulate::py_to_r(frame$columns$to_list()))
  columns <- lapply(names_in_order, function(name) {
    values <- reticulate::py_to_r(reticulate::py_get_item(frame, name)$to_list())
    values <- as.list(values)
    values[vapply(values, is.null, logical(1))] <- NA
    unlist(values)
  })
  made <- as.data.frame(stats::setNames(columns, names_in_order), stringsAsFactors = FALSE,
                        optional = TRUE)
  for (name in intersect(names(made), names(like))) {
    attr(made[[name]], "label") <- attr(like[[name]], "label", exact = TRUE)
  }
  made
}
