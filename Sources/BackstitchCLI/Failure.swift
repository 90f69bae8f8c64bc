import Backstitch

/// What the program says when something failed.
enum Failure {
    static func describe(_ error: any Error) -> String {
        if error is CancellationError { return "It was ended before it was done." }
        guard let error = error as? StoreError else { return "\(error)" }
        guard let advice = advice(for: error.code) else { return error.message }
        return error.message + "\n" + advice
    }

    /// What the message of the store can't know, because only the program has it.
    private static func advice(for code: StoreError.Code) -> String? {
        switch code {
        case .newerFormat: "This is \(Program.name) \(Program.version). Nothing was changed."
        default: nil
        }
    }
}
