import sys

with open("logs/output/prod/arguments.txt", "w") as file:
    file.write("\n".join(sys.argv[1:]))
