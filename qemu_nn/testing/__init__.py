"""Random calls, and calls that stand for every op: for tests, benchmarks and `variants`.

A random call is a function and a Recipe of named generators: of its shape (geometry), of the
parameters of its channels (channels), of its values (values), and of sums on the borders between
outputs (borders). rows compares what the rows of the kernel table compute of such calls.
"""
