# fish completion for credctl and credd.
#
# Installed as /usr/share/fish/vendor_completions.d/credctl.fish, with a link "credd.fish" to it.

# Prints the profiles that are open to the caller, if credd answers at once.
function __credctl_profiles
    set -l words (commandline -opc)
    set -l socket
    if set -l index (contains -i -- --socket $words)
        and test $index -lt (count $words)
        set socket --socket $words[(math $index + 1)]
    end
    timeout 0.5 credctl profiles $socket 2>/dev/null </dev/null | string match -v -r '^(no profile |PROFILE )' | string replace -r ' .*' ''
end

# After "exec --", the completions of that command apply.
function __credctl_command
    set -l words (commandline -opc)
    if set -l index (contains -i -- -- $words)
        set -l rest (string escape -- $words[(math $index + 1)..-1]) (commandline -ct)
        complete -C (string join ' ' -- $rest)
    else
        printf "%s\n" --
    end
end

set -l verbs get token identity status profiles login logout account clear release watch exec env import ping help
set -l none "not __fish_seen_subcommand_from $verbs"

complete -c credctl -f
complete -c credctl -s h -l help -d 'Explain the verb'
complete -c credctl -l version -d 'Print the version'
complete -c credctl -n 'not __fish_seen_subcommand_from import help' -l socket -rF -d "The daemon's socket"

complete -c credctl -n $none -a get -d 'Print credentials'
complete -c credctl -n $none -a token -d 'Print the OpenID token'
complete -c credctl -n $none -a identity -d 'Show state and IdentityId'
complete -c credctl -n $none -a status -d 'Show sessions'
complete -c credctl -n $none -a profiles -d 'List the profiles'
complete -c credctl -n $none -a login -d 'Sign in'
complete -c credctl -n $none -a logout -d 'Sign out'
complete -c credctl -n $none -a account -d 'Make an account'
complete -c credctl -n $none -a clear -d 'Forget credentials or identity'
complete -c credctl -n $none -a release -d 'End the wait for a sign-in'
complete -c credctl -n $none -a watch -d 'Print what happens'
complete -c credctl -n $none -a exec -d 'Run a command with credentials'
complete -c credctl -n $none -a env -d 'Print credentials as variables'
complete -c credctl -n $none -a import -d 'Print the profile for a mobile app'
complete -c credctl -n $none -a ping -d 'Check that credd answers'
complete -c credctl -n $none -a help -d 'Explain a verb'

set -l session __fish_seen_subcommand_from get token identity status login logout account clear release watch exec env
complete -c credctl -n "$session" -a '(__credctl_profiles)'
complete -c credctl -n "$session" -s p -l profile -x -a '(__credctl_profiles)' -d 'The profile'
complete -c credctl -n '__fish_seen_subcommand_from import' -s p -l profile -x -d 'The name of the profile'
complete -c credctl -n '__fish_seen_subcommand_from identity status profiles login logout account clear release watch ping' -l json -d "Print the daemon's line of JSON"
complete -c credctl -n '__fish_seen_subcommand_from get token exec env' -l min-ttl -x -d 'Valid at least so many seconds'
complete -c credctl -n '__fish_seen_subcommand_from get token exec env' -l wait -x -d 'Wait so many seconds for a sign-in'
complete -c credctl -n '__fish_seen_subcommand_from get token exec env' -l refresh -d 'Fetch new ones'
complete -c credctl -n '__fish_seen_subcommand_from get' -l user -x -a '(__fish_complete_users)' -d 'In the name of another user'
complete -c credctl -n '__fish_seen_subcommand_from env' -l format -x -a 'sh fish dotenv json' -d 'How it is written'
complete -c credctl -n '__fish_seen_subcommand_from ping' -l timeout -x -d 'Give up after so many seconds'
complete -c credctl -n '__fish_seen_subcommand_from status' -l all -d "Every user's sessions"
complete -c credctl -n '__fish_seen_subcommand_from logout' -l global -d "Tell the organisation's server too"
complete -c credctl -n '__fish_seen_subcommand_from logout' -l no-revoke -d 'Do not revoke refresh tokens'
complete -c credctl -n '__fish_seen_subcommand_from account' -a sign-up
complete -c credctl -n '__fish_seen_subcommand_from account' -l attribute -x -d 'An attribute of the account'
complete -c credctl -n '__fish_seen_subcommand_from clear' -a 'credentials identity'
complete -c credctl -n '__fish_seen_subcommand_from import' -F
complete -c credctl -n '__fish_seen_subcommand_from exec' -a '(__credctl_command)'
complete -c credctl -n '__fish_seen_subcommand_from help' -a "$verbs"
complete -c credctl -n '__fish_seen_subcommand_from login account' -l username -x -d 'The name at the backend'
complete -c credctl -n '__fish_seen_subcommand_from login account' -l password-stdin -d 'Read the password from standard input'
complete -c credctl -n '__fish_seen_subcommand_from login' -l identity-id -x -d 'The IdentityId of a developer token'
complete -c credctl -n '__fish_seen_subcommand_from login' -l token-stdin -d 'Read the developer token from standard input'
complete -c credctl -n '__fish_seen_subcommand_from login' -l login -x -d "Another provider's token"
complete -c credctl -n '__fish_seen_subcommand_from login account' -l trust-socket -d 'Send the secret to an unknown listener'
complete -c credctl -n '__fish_seen_subcommand_from login' -l alone -d 'Replace what is there, link with nothing'
complete -c credctl -n '__fish_seen_subcommand_from login' -l custom-role-arn -x -d 'The role, for a SAML token'

complete -c credd -f
complete -c credd -s h -l help -d 'Explain the options'
complete -c credd -l version -d 'Print the version'
complete -c credd -l config -rF -d 'The configuration'
complete -c credd -l socket -rF -d 'Bind this path'
complete -c credd -l check-config -d 'Check the configuration and exit'
complete -c credd -l log-level -x -a 'error warning notice info debug' -d 'What is logged'
