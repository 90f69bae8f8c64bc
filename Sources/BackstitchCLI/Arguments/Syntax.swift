import Terminal

/// What a command takes.
struct Syntax: Sendable {
    /// An argument without a name; each has to be given.
    struct Operand: Sendable {
        /// Its name in the help, in capitals.
        let name: String
        /// What it is, in a line.
        let summary: String
        /// The words that it may be; empty for paths and names.
        var choices: [String] = []

        static let store = Operand(name: "STORE", summary: "The path of the store's folder.")
    }

    /// An argument with a name in front, which may be left out.
    struct Option: Sendable {
        /// The name without the dashes.
        let name: String
        /// What stands for its value in the help; nil for an option without one.
        let value: String?
        /// What it does, in a line.
        let summary: String

        /// Whether it may be given several times.
        let isRepeatable: Bool

        init(
            _ name: String, _ value: String? = nil, _ summary: String, isRepeatable: Bool = false
        ) {
            self.isRepeatable = isRepeatable
            self.name = name
            self.value = value
            self.summary = summary
        }

        static let json = Option("json", nil, "Writes JSON instead of text.")
    }

    var operands: [Operand] = []
    /// Arguments without a name that may follow, and may be left out.
    var optionalOperands: [Operand] = []
    var options: [Option] = []
    /// What else the help says, such as the keys of the JSON output.
    var notes = ""
}
