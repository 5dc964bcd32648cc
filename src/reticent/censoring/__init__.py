"""Interval censoring: answers known to lie in sets of numbers, and the most likely distribution behind them.

From sets to cells that may hold mass (`sets`, `cells`), first steps (`isotonic`, `icm`, `product_limit`), the solver
(`active_set`, `likelihood`), and whether its answer is the only one (`uniqueness`).
"""
