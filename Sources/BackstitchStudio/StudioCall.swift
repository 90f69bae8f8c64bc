import Foundation

/// A call of Studio's page.
package struct StudioCall: Sendable {
    /// Its name: the path behind `/api/1/`.
    package let name: String
    /// Whether it may change something.
    package let isAction: Bool
    /// The parameters: of the address, or the members of the body that are text or numbers.
    package let parameters: [String: String]

    package init(name: String, isAction: Bool = false, parameters: [String: String] = [:]) {
        (self.name, self.isAction, self.parameters) = (name, isAction, parameters)
    }

    /// A parameter; nil if it is missing or empty.
    package func text(_ name: String) -> String? {
        parameters[name].flatMap { $0.isEmpty ? nil : $0 }
    }

    /// A parameter that has to be there.
    ///
    /// - Throws: ``StudioError`` if it is not.
    package func required(_ name: String) throws(StudioError) -> String {
        guard let text = text(name) else { throw StudioError(400, "\(name) is missing.") }
        return text
    }

    /// A parameter as a number of at least 0; nil if it is missing.
    ///
    /// - Throws: ``StudioError`` if it is something else.
    package func number<Number: FixedWidthInteger>(
        _ name: String, as type: Number.Type = Number.self
    ) throws(StudioError) -> Number? {
        guard let text = text(name) else { return nil }
        guard let number = Number(text), number >= 0 else {
            throw StudioError(400, "\(name) is no number.")
        }
        return number
    }

    /// The parameters in the address of a request.
    static func parameters(ofTarget target: String) -> [String: String] {
        // Pages write a space as a plus, and a plus by its number.
        let target = target.replacing("+", with: "%20")
        let items = URLComponents(string: target)?.queryItems ?? []
        return Dictionary(items.map { ($0.name, $0.value ?? "") }) { $1 }
    }

    /// The members of a body; nil if it is no JSON object.
    static func parameters(ofBody body: [UInt8]) -> [String: String]? {
        guard
            let object = try? JSONSerialization.jsonObject(with: Data(body)) as? [String: Any]
        else { return nil }
        return object.compactMapValues { value in
            switch value {
            case let text as String: text
            case let number as NSNumber: number.stringValue
            default: nil
            }
        }
    }
}

/// Why a call is refused.
package struct StudioError: Error, Sendable {
    /// The HTTP status.
    package let status: Int
    /// What to do.
    package let message: String

    package init(_ status: Int, _ message: String) {
        (self.status, self.message) = (status, message)
    }
}

/// The answer to a call.
package enum StudioAnswer: Sendable {
    case json(String)
    /// The bytes of a file, to be kept and not shown.
    case file(path: String)
}

/// What Studio shows: it answers the calls of the page.
package protocol StudioSource: Sendable {
    /// What the page says of itself; JSON with `name` and `writable`.
    func session() throws -> String
    /// Answers a call.
    ///
    /// - Throws: ``StudioError``, or anything else, whose message is shown.
    func answer(_ call: StudioCall) async throws -> StudioAnswer
    /// What to say about an error.
    func message(of error: any Error) -> String
    /// Lets calls that wait end.
    func stop()
}
