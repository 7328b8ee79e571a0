# blocks.awk - cuts the fenced blocks out of a Markdown file: NN.<language> each, and NN.marker with the comment that stands
# right before the fence ("not run: needs SLURM", "run by: test_install", "file: first.yaml"), into the folder `to`.
/^<!-- .* -->$/ { marker = substr($0, 6, length($0) - 9); next }
/^```[a-z]+$/ {
    number = sprintf("%s/%02d", to, ++count)
    file = number "." substr($0, 4)
    print marker > (number ".marker")
    printf "" > file
    next
}
/^```$/ { if (file != "") close(file); file = ""; marker = ""; next }
file != "" { print > file; next }
NF { marker = "" }
