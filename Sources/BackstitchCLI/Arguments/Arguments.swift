import Terminal

/// The arguments of a command, read by its syntax.
struct Arguments: Equatable {
    /// The arguments without a name: all that the syntax needs, then those it allows.
    private(set) var operands: [String] = []
    private var values: [String: [String]] = [:]

    /// Reads arguments: `--name value`, `--name=value`, and behind `--` operands only.
    ///
    /// Returns nil if the help is asked for.
    init?(_ words: [String], syntax: Syntax) throws(UsageError) {
        var rest = words[...]
        var takesOptions = true
        while let word = rest.popFirst() {
            if takesOptions, word == "--" {
                takesOptions = false
            } else if takesOptions, word == "--help" || word == "-h" {
                return nil
            } else if takesOptions, word.hasPrefix("-"), word != "-" {
                try add(option: word, &rest, syntax)
            } else if operands.count < syntax.operands.count + syntax.optionalOperands.count {
                operands.append(word)
            } else {
                throw UsageError("Unexpected argument '\(word.printable)'.")
            }
        }
        if operands.count < syntax.operands.count {
            throw UsageError("\(syntax.operands[operands.count].name) is missing.")
        }
    }

    private mutating func add(
        option word: String, _ rest: inout ArraySlice<String>, _ syntax: Syntax
    ) throws(UsageError) {
        let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        guard let spelled = parts.first,
            let option = syntax.options.first(where: { "--" + $0.name == spelled })
        else {
            let word = String(parts.first ?? "")
            throw UsageError(
                "There is no option '\(word.printable)'."
                    + Suggestion.text(word, among: syntax.options.map { "--" + $0.name }))
        }
        guard values[option.name] == nil || option.isRepeatable else {
            throw UsageError("The option --\(option.name) is given twice.")
        }
        guard let placeholder = option.value else {
            guard parts.count == 1 else {
                throw UsageError("The option --\(option.name) takes no value.")
            }
            values[option.name] = [""]
            return
        }
        if parts.count == 2 {
            values[option.name, default: []].append(String(parts[1]))
        } else if let value = rest.popFirst() {
            values[option.name, default: []].append(value)
        } else {
            throw UsageError("The option --\(option.name) needs a value: \(placeholder).")
        }
    }

    /// Whether an option is given.
    func has(_ option: Syntax.Option) -> Bool { values[option.name] != nil }

    /// The value of an option; nil if it is not given.
    func text(_ option: Syntax.Option) -> String? { values[option.name]?.last }

    /// The values of an option that may be given several times.
    func texts(_ option: Syntax.Option) -> [String] { values[option.name] ?? [] }

    /// The value of an option as a whole number of at least 1; nil if it is not given.
    func number<Number: FixedWidthInteger>(
        _ option: Syntax.Option, as type: Number.Type = Number.self
    ) throws(UsageError) -> Number? {
        guard let text = text(option) else { return nil }
        guard let number = Number(text), number >= 1 else {
            throw UsageError(
                "The option --\(option.name) takes a whole number from 1 to \(Number.max), and not "
                    + "'\(text.printable)'.")
        }
        return number
    }
}
