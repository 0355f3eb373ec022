"""The pages, one module a stage; the only room that draws."""
