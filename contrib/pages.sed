# Makes the links of a page fit /usr/share/doc/credd, where all pages lie in one folder. What is not
# installed there is named without a link. A test follows every link of the installed pages.
s#](docs/#](#g
s#](\.\./\(README\|SECURITY\|CHANGELOG\)\.md#](\1.md#g
s#](\(\.\./\)\{0,1\}contrib/credd\.conf\.example)#](examples/credd.conf.example)#g
s#](\(\.\./\)\{0,1\}systemd/examples/#](examples/#g
# The stand-in has a package of its own.
s#\[sandbox\.md\](sandbox\.md[^)]*)#sandbox.md (of the package credd-sandbox)#g
s#\[\([^]]*\)\](sandbox\.md[^)]*)#\1#g
# There are no pages for contributors.
/^| contributors |/d
# Manual pages, the developers' pages, sources.
s#\[\([^]]*\)\](\(\.\./\)\{0,1\}\(CONTRIBUTING\.md\|LICENSE\|\(man\|internals\|Benchmarks\|Sources\|Tests\|contrib\|systemd\)/\)[^)]*)#\1#g
