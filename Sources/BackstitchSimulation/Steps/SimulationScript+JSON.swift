public import Foundation

extension SimulationScript {
    /// Reads a script as ``json`` writes it.
    /// - Throws: ``SimulationScriptError`` if it is no script, or a value is out of its range.
    public init(json: Data) throws(SimulationScriptError) {
        do {
            self = try JSONDecoder().decode(SimulationScript.self, from: json)
        } catch let error as DecodingError {
            throw SimulationScriptError(
                description: "This is no script of a simulation: \(error.place).")
        } catch {
            throw SimulationScriptError(
                description: "This is no script of a simulation: \(error).")
        }
        try validate()
    }

    /// The script as JSON: one step in a line, keys in alphabetical order.
    public var json: String {
        get throws {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            func text(_ value: some Encodable) throws -> String {
                String(decoding: try encoder.encode(value), as: UTF8.self)
            }
            let lines = try steps.map { "    " + (try text($0)) }
            return """
                {
                  "seed": \(seed),
                  "setting": \(try text(setting)),
                  "steps": [
                \(lines.joined(separator: ",\n"))
                  ],
                  "version": \(version)
                }
                """
        }
    }
}

extension DecodingError {
    /// What is wrong, and where.
    fileprivate var place: String {
        let context: Context
        switch self {
        case .typeMismatch(_, let found), .valueNotFound(_, let found), .dataCorrupted(let found):
            context = found
        case .keyNotFound(let key, let found):
            return "'\(key.stringValue)' is missing\(Self.path(found))"
        @unknown default: return "\(self)"
        }
        return context.debugDescription + Self.path(context)
    }

    private static func path(_ context: Context) -> String {
        guard !context.codingPath.isEmpty else { return "" }
        let parts = context.codingPath.map { $0.intValue.map { "\($0 + 1)" } ?? $0.stringValue }
        return " at " + parts.joined(separator: " ")
    }
}
