# fish completion for credctl and credd: what ArgumentParser's, which stands before this, lacks.
#
# Installed as /usr/share/fish/vendor_completions.d/credctl.fish, with a link "credd.fish" to it.

functions --erase __credctl_typed_tokens
functions --copy __credctl_tokens __credctl_typed_tokens

# The tokens as ArgumentParser's completions can read them: the profile may stand before the action of
# "account", and "help" is followed by a verb. fish 3.6 does not say where in a token the cursor is, if
# it is asked as ArgumentParser's do.
function __credctl_tokens
    if test "$argv[1]" = -tC
        string length -- "$(commandline -ct)"
        return
    end
    set -l tokens (__credctl_typed_tokens $argv)
    # This runs for each option that might be offered.
    if contains -- $argv[1] -pc -p; and string match -q -r '^(account|help)$' -- $tokens
        set -l verb (__credctl_verb $tokens)
        set -l next (math $verb + 1)
        if test "$tokens[$verb]" = help
            set -e tokens[$verb]
        else if test "$tokens[$verb]" = account; and set -q tokens[$next]
            if not string match -q -- '-*' $tokens[$next]; and not __credctl_is_action $tokens[$next]
                set -e tokens[$next]
            end
        end
    end
    string join \n -- $tokens
end

# Prints the index of the verb among the tokens.
function __credctl_verb
    set -l verb 2
    while string match -q -- '--socket*' $argv[$verb]
        test $argv[$verb] = --socket; and set verb (math $verb + 1)
        set verb (math $verb + 1)
    end
    echo $verb
end

function __credctl_is_action
    functions __credctl_parse_tokens | string match -q -r "^ +case '?$argv[1]'?\$"
end

# Whether the word is one of the command of "exec" or "serve".
function __credctl_is_in_command
    set -l tokens (__credctl_typed_tokens -pc)
    contains -- "$tokens[$(__credctl_verb $tokens)]" exec serve; and contains -- -- $tokens
end

# After "exec --", the completions of that command apply.
function __credctl_command
    set -l tokens (__credctl_typed_tokens -pc)
    set -l index (contains -i -- -- $tokens)
    complete -C (string join ' ' -- (string escape -- $tokens[(math $index + 1)..-1]) (commandline -ct))
end

# Whether the word after "account" is typed, which may be the profile.
function __credctl_is_after_account
    set -l tokens (__credctl_typed_tokens -pc)
    test "$tokens[-1]" = account; and test (__credctl_verb $tokens) -eq (count $tokens)
end

complete -c credctl -n __credctl_is_in_command -a '(__credctl_command)'
complete -c credctl -n __credctl_is_after_account \
    -a '(__credctl_custom_completion ---completion identity -- positional@0 1 0)'

complete -c credd -f
complete -c credd -s h -l help -d 'Explain the options'
complete -c credd -l version -d 'Print the version'
complete -c credd -l config -rF -d 'The configuration'
complete -c credd -l socket -rF -d 'Bind this path'
complete -c credd -l endpoint -x -a '127.0.0.1:337' -d 'Where HTTP clients are served'
complete -c credd -l token-socket -rF -d 'The socket for tokens of units'
complete -c credd -l check-config -d 'Check the configuration and exit'
complete -c credd -l log-level -x -a 'error warning notice info debug' -d 'What is logged'
