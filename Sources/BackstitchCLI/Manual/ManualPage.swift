import Foundation

/// Pages for man(1), made of the commands' own help.
struct ManualPage {
    /// The date of a page, as `2026-01-31`.
    let date: String
    let program: String
    let version: String

    /// The page of the program, which lists its commands.
    func overview(_ summary: String, _ commands: [any Command]) -> String {
        var lines = head(program, summary)
        lines += [".SH SYNOPSIS", ".B \(program)", ".I COMMAND", "[OPTIONS]", ".SH COMMANDS"]
        for command in commands {
            lines += [".TP", ".BR \(Self.escaped("\(program)-\(command.name)")) (1)"]
            lines.append(Self.line(command.summary))
        }
        lines += [
            ".SH OPTIONS", ".TP", ".B \\-\\-help", "Shows the commands, or what a command takes.",
            ".TP", ".B \\-\\-version", "Shows the version.", ".SH EXIT STATUS",
            "0 done; 1 done, and a store is not consistent; 2 not done.",
            "A reader that closes a pipe early is no error: the exit code is 0, as when it reads all.",
        ]
        return lines.joined(separator: "\n") + "\n"
    }

    /// The page of a command.
    func page(of command: any Command) -> String {
        var lines = head("\(program)-\(command.name)", command.summary)
        lines += [".SH SYNOPSIS", ".B \(program) \(Self.escaped(command.name))"]
        lines += command.syntax.operands.map { ".I \(Self.escaped($0.name))" }
        lines += command.syntax.optionalOperands.map { "[\(Self.escaped($0.name))]" }
        lines += ["[OPTIONS]", ".SH DESCRIPTION", Self.line(command.summary)]
        for operand in command.syntax.operands + command.syntax.optionalOperands {
            lines += [".TP", ".I \(Self.escaped(operand.name))", Self.line(operand.summary)]
        }
        lines.append(".SH OPTIONS")
        for option in command.syntax.options {
            lines += [".TP", ".B \\-\\-\(Self.escaped(option.name))"]
            if let value = option.value { lines.append(".I \(Self.escaped(value))") }
            lines += [".br", Self.line(option.summary)]
        }
        lines += [".TP", ".B \\-\\-help", "Shows this."]
        if !command.syntax.notes.isEmpty {
            lines += [".SH NOTES", ".nf"]
            lines += command.syntax.notes.split(separator: "\n", omittingEmptySubsequences: false)
                .map { $0.isEmpty ? ".sp" : Self.line($0) }
            lines.append(".fi")
        }
        lines += [".SH SEE ALSO", ".BR \(program) (1)"]
        return lines.joined(separator: "\n") + "\n"
    }

    private func head(_ name: String, _ summary: String) -> [String] {
        let name = Self.escaped(name)
        return [
            ".TH \"\(name.uppercased())\" 1 \(date) \"\(program) \(version)\"", ".SH NAME",
            "\(name) \\- \(Self.line(summary))",
        ]
    }

    /// Text in which roff sees no request of its own.
    private static func escaped(_ text: some StringProtocol) -> String {
        String(text).replacing("\\", with: "\\e").replacing("-", with: "\\-")
            .replacing("'", with: "\\(aq")
    }

    /// As above, for a whole line.
    private static func line(_ text: some StringProtocol) -> String {
        let text = escaped(text)
        return text.hasPrefix(".") || text.hasPrefix("'") ? "\\&" + text : text
    }
}
