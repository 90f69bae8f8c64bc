import Foundation

/// What shells offer behind the name of the program, made of the table of commands.
struct Completions {
    let program: String
    let commands: [any Command]

    /// The choices of the first operand of a command; empty if it is a path or a name.
    private static func choices(of command: any Command) -> [String] {
        (command.syntax.operands + command.syntax.optionalOperands).first?.choices ?? []
    }

    private static func options(of command: any Command) -> [Syntax.Option] {
        command.syntax.options + [Syntax.Option("help", nil, "Shows what the command takes.")]
    }

    var bash: String {
        let first = commands.map(\.name) + ["--help", "--version"]
        var lines = [
            "# Completions of \(program) for bash.", "_\(program)() {",
            "    local current=${COMP_WORDS[COMP_CWORD]} options='' choices=''",
            "    if [ \"$COMP_CWORD\" -eq 1 ]; then",
            "        options='\(first.joined(separator: " "))'",
            "        mapfile -t COMPREPLY < <(compgen -W \"$options\" -- \"$current\")",
            "        return", "    fi", "    case ${COMP_WORDS[1]} in",
        ]
        for command in commands {
            lines.append("    \(command.name))")
            let options = Self.options(of: command).map { "--" + $0.name }
            lines.append("        options='\(options.joined(separator: " "))'")
            let choices = Self.choices(of: command)
            if !choices.isEmpty {
                lines.append("        choices='\(choices.joined(separator: " "))'")
            }
            lines.append("        ;;")
        }
        lines += [
            "    esac", "    case $current in",
            "    -*) mapfile -t COMPREPLY < <(compgen -W \"$options\" -- \"$current\") ;;",
            "    *)",
            "        if [ \"$COMP_CWORD\" -eq 2 ] && [ -n \"$choices\" ]; then",
            "            mapfile -t COMPREPLY < <(compgen -W \"$choices\" -- \"$current\")",
            "        else", "            mapfile -t COMPREPLY < <(compgen -f -- \"$current\")",
            "        fi", "        ;;", "    esac", "}",
            "complete -o filenames -F _\(program) \(program)",
        ]
        return lines.joined(separator: "\n") + "\n"
    }

    var zsh: String {
        func quoted(_ text: String) -> String {
            var result = ""
            for character in text {
                switch character {
                case "'": result += "'\\''"
                case "[", "]", ":", "\\": result += "\\\(character)"
                default: result.append(character)
                }
            }
            return result
        }
        var lines = [
            "#compdef \(program)", "_\(program)() {", "    local -a commands", "    commands=(",
        ]
        lines += commands.map { "        '\($0.name):\(quoted($0.summary))'" }
        lines += [
            "    )", "    if (( CURRENT == 2 )); then", "        _describe command commands",
            "        return", "    fi", "    local command=${words[2]}", "    shift words",
            "    (( CURRENT-- ))", "    case $command in",
        ]
        for command in commands {
            lines.append("    \(command.name))")
            lines.append("        _arguments \\")
            for option in Self.options(of: command) {
                let value = option.value.map { ":\(quoted($0)):_files" } ?? ""
                let star = option.isRepeatable ? "*" : ""
                lines.append(
                    "            '\(star)--\(option.name)[\(quoted(option.summary))]\(value)' \\")
            }
            let choices = Self.choices(of: command)
            if !choices.isEmpty {
                lines.append("            '1:action:(\(choices.joined(separator: " ")))' \\")
            }
            lines += ["            '*:file:_files'", "        ;;"]
        }
        lines += ["    esac", "}", "_\(program) \"$@\""]
        return lines.joined(separator: "\n") + "\n"
    }

    var fish: String {
        func quoted(_ text: String) -> String {
            "'" + text.replacing("\\", with: "\\\\").replacing("'", with: "\\'") + "'"
        }
        var lines = ["# Completions of \(program) for fish."]
        for command in commands {
            lines.append(
                "complete -c \(program) -n __fish_use_subcommand -f -a \(command.name) -d "
                    + quoted(command.summary))
        }
        for command in commands {
            let seen = "complete -c \(program) -n '__fish_seen_subcommand_from \(command.name)'"
            for option in Self.options(of: command) {
                let value = option.value == nil ? "" : " -r"
                lines.append("\(seen) -l \(option.name)\(value) -d \(quoted(option.summary))")
            }
            let choices = Self.choices(of: command)
            if !choices.isEmpty {
                lines.append("\(seen) -f -a \(quoted(choices.joined(separator: " ")))")
            }
        }
        return lines.joined(separator: "\n") + "\n"
    }
}
