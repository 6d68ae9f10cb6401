"""Random calls, and representative calls of every op, for tests, benchmarks and `variants`.

A random call is a function and a Recipe of named generators: of its shape (geometry), of the
parameters of its channels (channels), of its values (values), and of sums on the borders between
outputs (borders). rows compares the results of the kernel table's rows for such calls.
"""
