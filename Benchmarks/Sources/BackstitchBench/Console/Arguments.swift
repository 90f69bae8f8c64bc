/// What was asked for on the command line.
struct Arguments {
    struct Mistake: Error, CustomStringConvertible {
        let description: String
    }

    private var rest: ArraySlice<String>

    init(_ words: ArraySlice<String>) { rest = words }

    /// The next word; nil at the end.
    mutating func next() -> String? { rest.popFirst() }

    /// The value of an option.
    mutating func value(of option: String) throws -> String {
        guard let value = rest.popFirst(), !value.hasPrefix("--") else {
            throw Mistake(description: "\(option) needs a value.")
        }
        return value
    }

    /// The number that an option has as its value.
    mutating func number(of option: String, from least: Int) throws -> Int {
        let text = try value(of: option)
        guard let number = Int(text), number >= least else {
            throw Mistake(description: "\(option) takes a number from \(least) on, not \(text).")
        }
        return number
    }

    /// The names, separated by commas, that an option has as its value.
    mutating func names<Name: RawRepresentable & CaseIterable>(
        of option: String
    ) throws -> [Name] where Name.RawValue == String {
        try value(of: option).split(separator: ",").map { text in
            guard let name = Name(rawValue: String(text)) else {
                let known = Name.allCases.map(\.rawValue).joined(separator: ", ")
                throw Mistake(description: "\(option) does not know \(text). It takes: \(known).")
            }
            return name
        }
    }
}
