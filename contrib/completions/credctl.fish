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

# Prints the verb, and the action of "account" where there is one.
function __credctl_words
    set -l actions sign-up confirm resend forgot-password reset-password get change-password set-attributes verify-attribute delete-attributes mfa totp devices remember-device forget-device delete
    set -l words (commandline -opc)
    set -l verb
    set -l skip
    for word in $words[2..-1]
        if set -q skip[1]
            set skip
        else if contains -- $word --socket -p --profile --username
            set skip 1
        else if string match -q -- '-*' $word
            continue
        else if not set -q verb[1]
            set verb $word
            echo $word
            test $word = account; or return
        else if contains -- $word $actions
            echo $word
            return
        end
    end
end

# Whether the verb is one of the arguments.
function __credctl_verb
    set -l words (__credctl_words)
    set -q words[1]; and contains -- $words[1] $argv
end

# Whether the verb is "account", with one of the arguments as its action.
function __credctl_action
    set -l words (__credctl_words)
    set -q words[2]; and test $words[1] = account; and contains -- $words[2] $argv
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

set -l verbs get token identity status profiles login respond logout account clear release watch exec env endpoint serve metrics check import ping help
set -l none "not __credctl_verb $verbs"
set -l actions sign-up confirm resend forgot-password reset-password get change-password set-attributes verify-attribute delete-attributes mfa totp devices remember-device forget-device delete

complete -c credctl -f
complete -c credctl -s h -l help -d 'Explain the verb'
complete -c credctl -l version -d 'Print the version'
complete -c credctl -n "not __credctl_verb import help account; or __credctl_action $actions" -l socket -rF -d "The daemon's socket"

complete -c credctl -n $none -a get -d 'Print credentials'
complete -c credctl -n $none -a token -d 'Print the OpenID token'
complete -c credctl -n $none -a identity -d 'Show state and IdentityId'
complete -c credctl -n $none -a status -d 'Show sessions'
complete -c credctl -n $none -a profiles -d 'List the profiles'
complete -c credctl -n $none -a login -d 'Sign in'
complete -c credctl -n $none -a logout -d 'Sign out'
complete -c credctl -n $none -a respond -d 'Answer what a sign-in asks'
complete -c credctl -n $none -a account -d 'Make, show and change your account'
complete -c credctl -n $none -a clear -d 'Forget credentials or identity'
complete -c credctl -n $none -a release -d 'End the wait for a sign-in'
complete -c credctl -n $none -a watch -d 'Print what happens'
complete -c credctl -n $none -a exec -d 'Run a command with credentials'
complete -c credctl -n $none -a env -d 'Print credentials as variables'
complete -c credctl -n $none -a serve -d 'Run a command with an HTTP endpoint of its own'
complete -c credctl -n $none -a metrics -d 'Print what credd counts'
complete -c credctl -n '__credctl_verb metrics' -l no-profiles -d 'Name no profiles'
complete -c credctl -n $none -a endpoint -d 'Print variables that lead to the HTTP endpoint'
complete -c credctl -n $none -a check -d 'Try each step of a sign-in'
complete -c credctl -n $none -a import -d 'Print the profile for a mobile app'
complete -c credctl -n $none -a ping -d 'Check that credd answers'
complete -c credctl -n $none -a help -d 'Explain a verb'

set -l session __credctl_verb get token identity status login logout clear release watch exec env endpoint serve check
set -l action "__credctl_action $actions"
complete -c credctl -n "$session" -a '(__credctl_profiles)'
complete -c credctl -n "__credctl_verb account; and not $action" -a '(__credctl_profiles)'
complete -c credctl -n "__credctl_verb account; and not $action" -a "$actions"
complete -c credctl -n "$session; or $action" -s p -l profile -x -a '(__credctl_profiles)' -d 'The profile'
complete -c credctl -n '__credctl_verb import' -s p -l profile -x -d 'The name of the profile'
complete -c credctl -n "__credctl_verb identity status profiles login respond logout clear release watch check ping; or $action" -l json -d "Print the daemon's line of JSON"
complete -c credctl -n '__credctl_verb get token exec env' -l min-ttl -x -d 'Valid at least so many seconds'
complete -c credctl -n '__credctl_verb get token respond exec env' -l wait -x -d 'Wait so many seconds for a sign-in'
complete -c credctl -n '__credctl_verb get token exec env' -l refresh -d 'Fetch new ones'
complete -c credctl -n '__credctl_verb check' -l all-profiles -d 'The servers of all profiles'
complete -c credctl -n '__credctl_verb exec' -l renew -d 'Give an endpoint that renews'
complete -c credctl -n '__credctl_verb serve' -l listen -x -a '127.0.0.1:0' -d 'Where it listens'
complete -c credctl -n '__credctl_verb exec serve endpoint' -l no-config -d 'Hide ~/.aws/config'
complete -c credctl -n '__credctl_verb serve' -l token-only -d 'Trust the token alone'
complete -c credctl -n '__credctl_verb get' -l user -x -a '(__fish_complete_users)' -d 'In the name of another user'
complete -c credctl -n '__credctl_verb env' -l format -x -a 'sh fish dotenv json' -d 'How it is written'
complete -c credctl -n '__credctl_verb token' -l kind -x -a 'developer id access' -d 'Which token'
complete -c credctl -n '__credctl_verb ping' -l timeout -x -d 'Give up after so many seconds'
complete -c credctl -n '__credctl_verb status' -l all -d "Every user's sessions"
complete -c credctl -n '__credctl_verb logout' -l global -d "Tell the organisation's server too"
complete -c credctl -n '__credctl_verb logout' -l no-revoke -d 'Do not revoke refresh tokens'
complete -c credctl -n '__credctl_verb logout' -l browser -d "Open the provider's page that signs the browser out"
complete -c credctl -n '__credctl_action sign-up' -l attribute -x -d 'An attribute of the account'
complete -c credctl -n '__credctl_action verify-attribute' -l have-code -d 'Send no new code'
complete -c credctl -n '__credctl_action mfa' -l enabled -x -a 'SMS_MFA EMAIL_OTP SOFTWARE_TOKEN_MFA none' -d 'All factors that are used'
complete -c credctl -n '__credctl_action mfa' -l preferred -x -a 'SMS_MFA EMAIL_OTP SOFTWARE_TOKEN_MFA none' -d 'The factor that is asked for first'
complete -c credctl -n '__credctl_action totp' -l name -x -d 'A name for the app'
complete -c credctl -n '__credctl_action remember-device' -l remembered -d 'It is remembered'
complete -c credctl -n '__credctl_action remember-device' -l no-remembered -d 'It is not remembered'
complete -c credctl -n '__credctl_action delete' -l yes -d 'Do not ask'
complete -c credctl -n '__credctl_verb login; or __credctl_action confirm reset-password verify-attribute totp' -l code-stdin -d 'Read the code from standard input'
complete -c credctl -n '__credctl_verb respond' -l answers-stdin -d 'Read the answers as JSON from standard input'
complete -c credctl -n '__credctl_verb respond' -l cancel -d 'End the sign-in'
complete -c credctl -n '__credctl_verb clear' -a 'credentials identity'
complete -c credctl -n '__credctl_verb import' -F
complete -c credctl -n '__credctl_verb exec serve' -a '(__credctl_command)'
complete -c credctl -n '__credctl_verb help' -a "$verbs"
complete -c credctl -n '__credctl_verb login; or __credctl_action sign-up confirm resend forgot-password reset-password' -l username -x -d 'The name at the backend'
complete -c credctl -n '__credctl_verb login; or __credctl_action sign-up reset-password change-password' -l password-stdin -d 'Read the password from standard input'
complete -c credctl -n '__credctl_verb login' -l browser -d 'Sign in with a browser'
complete -c credctl -n '__credctl_verb login' -l paste -d 'Sign in with a browser elsewhere'
complete -c credctl -n '__credctl_verb login' -l no-browser -d 'Sign in with a browser elsewhere'
complete -c credctl -n '__credctl_verb login' -l device -d 'Sign in by a code on another device'
complete -c credctl -n '__credctl_verb login' -l use-device-code -d 'Sign in by a code on another device'
complete -c credctl -n '__credctl_verb login' -l provider -x -d 'The provider at which a user pool signs in'
complete -c credctl -n '__credctl_verb login' -l scope -x -d 'Ask for this scope alone'
complete -c credctl -n '__credctl_verb login' -l private -d 'Let the provider ask for the password again'
complete -c credctl -n '__credctl_verb login' -l browser-command -x -a '(__fish_complete_command)' -d 'What opens the browser'
complete -c credctl -n '__credctl_verb login' -l identity-id -x -d 'The IdentityId of a developer token'
complete -c credctl -n '__credctl_verb login' -l token-stdin -d 'Read the developer token from standard input'
complete -c credctl -n '__credctl_verb login' -l login -x -d "Another provider's token"
complete -c credctl -n "__credctl_verb login respond; or $action" -l trust-socket -d 'Send the secret to an unknown listener'
complete -c credctl -n '__credctl_verb login' -l alone -d 'Replace what is there, link with nothing'
complete -c credctl -n '__credctl_verb login respond' -l client-metadata -x -d "A text for the pool's triggers"
complete -c credctl -n '__credctl_verb login' -l custom-role-arn -x -d 'The role, for a SAML token'

complete -c credd -f
complete -c credd -s h -l help -d 'Explain the options'
complete -c credd -l version -d 'Print the version'
complete -c credd -l config -rF -d 'The configuration'
complete -c credd -l socket -rF -d 'Bind this path'
complete -c credd -l endpoint -x -a '127.0.0.1:337' -d 'Where HTTP clients are served'
complete -c credd -l token-socket -r -d 'The socket for tokens of units'
complete -c credd -l check-config -d 'Check the configuration and exit'
complete -c credd -l log-level -x -a 'error warning notice info debug' -d 'What is logged'
