# Reference values of the survey package of R for tests/test_weighted.py. Needs R with the package survey:
#
#     Rscript survey.R > weighted_survey.json
#
# The people, their weights and strata are written beside the values, so that the test reads one file.
suppressPackageStartupMessages(library(survey))

set.seed(2107)
n <- 300
stratum <- sample(c("city", "town", "village"), n, replace = TRUE, prob = c(0.5, 0.3, 0.2))
group <- sample(c("under 40", "40 and over"), n, replace = TRUE, prob = c(0.4, 0.6))
chance <- list(city = c(4, 3, 2, 1), town = c(1, 4, 3, 2), village = c(1, 1, 3, 5))
answer <- vapply(stratum, function(s) sample(letters[1:4], 1, prob = chance[[s]]), "")
weight <- round(c(city = 40, town = 90, village = 210)[stratum] * exp(0.5 * rnorm(n)) * (1 + 0.5 * (answer == "d")), 3)
people <- data.frame(stratum, group, answer = factor(answer), weight)

number <- function(x) paste0("[", paste(sprintf("%.17g", x), collapse = ", "), "]")
text <- function(x) paste0("[", paste0('"', x, '"', collapse = ", "), "]")
values <- function(m) {
  v <- vcov(m)
  rows <- paste(apply(v, 1, number), collapse = ", ")
  sprintf('{"mean": %s, "se": %s, "covariance": [%s]}', number(coef(m)), number(SE(m)), rows)
}

plain <- svydesign(ids = ~1, weights = ~weight, data = people)
stratified <- svydesign(ids = ~1, strata = ~stratum, weights = ~weight, data = people)
of_group <- function(g) {
  alone <- svydesign(ids = ~1, weights = ~weight, data = people[people$group == g, ])
  domain <- svymean(~answer, subset(plain, group == g))
  sprintf('"%s": {"alone": %s, "domain": %s}', g, values(svymean(~answer, alone)), values(domain))
}

cat("{\n")
cat(sprintf('"made_by": "survey %s, R %s.%s",\n', packageVersion("survey"), R.version$major, R.version$minor))
cat(sprintf('"stratum": %s,\n', text(stratum)))
cat(sprintf('"group": %s,\n', text(group)))
cat(sprintf('"answer": %s,\n', text(answer)))
cat(sprintf('"weight": %s,\n', number(weight)))
cat(sprintf('"unstratified": %s,\n', values(svymean(~answer, plain))))
cat(sprintf('"stratified": %s,\n', values(svymean(~answer, stratified))))
cat(sprintf('"groups": {%s}\n', paste(vapply(unique(group), of_group, ""), collapse = ", ")))
cat("}\n")
