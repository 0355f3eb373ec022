library(testthat)
library(sfumato)

test_check("sfumato")
