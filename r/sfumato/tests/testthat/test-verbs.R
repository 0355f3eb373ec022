people <- function() {
  data.frame(
    name = paste0("n", 1:8), age = c(21L, 22L, 23L, 24L, 41L, 42L, 43L, NA),
    town = factor(rep(c("Ulm", "Rom"), each = 4)), pay = c(1.5, 2, NA, 4, 5, 6, 7, 8),
    ill = rep(c("flu", "gout"), 4)
  )
}
roles <- list(quasi = c("age", "town"), sensitive = "ill", drop = "name", keep = "pay")

made <- function(meet = "k_anonymity:2") {
  do.call(anonymize, c(list(people(), meet), roles, list(seed = "1")))
}

test_that("a table is assessed", {
  found <- do.call(assess, c(list(people()), roles))
  expect_equal(found$figures$smallest_class, 1)
  expect_equal(found$figures$records, 8)
})

test_that("a release keeps its promise, counted in R", {
  frame <- release_frame(made())
  expect_false("name" %in% names(frame))
  expect_gte(min(table(paste(frame$age, frame$town))), 2)
  expect_true(all(frame$ill %in% c("flu", "gout")))
  expect_type(frame$pay, "double")
  expect_true(all(stats::na.omit(frame$pay) %in% people()$pay))
})

test_that("what is written verifies, and what is edited does not", {
  folder <- tempfile()
  write_release(made(), folder)
  expect_equal(verify(file.path(folder, "share"))$result, "not all verified")
  file <- list.files(file.path(folder, "share"), "^data", full.names = TRUE)
  writeLines(sub("flu", "gout", readLines(file)), file)
  expect_equal(verify(file.path(folder, "share"))$result, "false")
})

test_that("attacks and measures are taken", {
  expect_output(print(attack(made(), seconds = 2)), "[a-z]")
  expect_output(print(evaluate(made())), "[a-z]")
})

test_that("steps are undone", {
  object <- do.call(sdc, c(list(people()), roles))
  expect_error(undo(object), "no step")
  one <- sdc_step(object, "k_anonymity:2", seed = "1")
  two <- sdc_step(one, "k_anonymity:4", seed = "1")
  expect_length(two$releases, 2)
  expect_identical(undo(two)$releases, one$releases)
  frame <- release_frame(two$releases[[2]])
  expect_gte(min(table(paste(frame$age, frame$town))), 4)
})

test_that("labels of haven are what values mean", {
  skip_if_not_installed("haven")
  data <- people()
  data$sex <- haven::labelled(c(1, 1, 1, 1, 2, 2, 2, NA), c(man = 1, woman = 2), label = "Sex")
  frame <- release_frame(anonymize(data, "k_anonymity:2", quasi = "town", drop = "name",
                                   keep = c("sex", "pay", "ill", "age"), steps = "mondrian",
                                   seed = "1"))
  expect_setequal(frame$sex, c("man", "woman", NA))
  expect_equal(attr(frame$sex, "label"), "Sex")
})

test_that("errors say what is wrong", {
  expect_error(assess(people(), quasi = "nothing"), "nothing")
  expect_error(assess(list(1), quasi = "a"), "data.frame")
})
