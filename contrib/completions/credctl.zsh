# zsh completion for credctl and credd: what ArgumentParser's, which stands before this, lacks.
#
# Installed as /usr/share/zsh/vendor-completions/_credctl (elsewhere site-functions/_credctl).

functions -c _credctl _credctl_generated

# The line as ArgumentParser's completions can read it: the profile may stand before the action of
# "account"; "help" is followed by a verb; and the command of "exec" and "serve" has completions of its
# own.
_credctl_typed() {
  local -i verb=2 end=${words[(i)--]}
  while [[ $words[verb] == --socket* ]]; do
    [[ $words[verb] == --socket ]] && ((verb += 1))
    ((verb += 1))
  done
  if [[ $words[verb] == (exec|serve) ]] && ((end < CURRENT)); then
    words=("${(@)words[end + 1,-1]}")
    ((CURRENT -= end))
    _normal
    return
  fi
  if [[ $words[verb] == help ]] && ((verb < CURRENT)); then
    words[verb]=()
    ((CURRENT -= 1))
  elif [[ $words[verb] == account ]] && ((verb + 1 == CURRENT)) && [[ $words[CURRENT] != -* ]]; then
    # The profile may be next.
    () { local -a words=("${(@)words}"); words[verb]=identity; _credctl_generated }
  elif [[ $words[verb] == account && $words[verb+1] != -* ]] && ((verb < CURRENT)) &&
    [[ -z $functions[_credctl_account_$words[verb+1]] ]]; then
    words[verb+1]=()
    ((CURRENT -= 1))
  fi
  _credctl_generated
}

_credctl() {
  case $service in
    credd)
      _arguments '(- *)'{-h,--help}'[explain the options]' '(- *)--version[print the version]' \
        '--config[the configuration]:file:_files' '--socket[bind this path]:socket:_files' \
        '--endpoint[where HTTP clients are served]:address:(127.0.0.1\:337)' \
        '--token-socket[the socket for tokens of units]:path:_files' \
        '--check-config[check the configuration and exit]' \
        '--log-level[what is logged]:level:(error warning notice info debug)' ;;
    *) _credctl_typed ;;
  esac
}

_credctl "$@"
