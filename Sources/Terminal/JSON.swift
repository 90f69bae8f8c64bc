import Foundation

/// How the program writes JSON: keys in alphabetical order, times in ISO 8601, one line each.
package enum JSON {
    package static func line(_ value: some Encodable) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(value), as: UTF8.self)
    }

    package static func value<Content: Decodable>(
        _ type: Content.Type, _ bytes: [UInt8]
    ) throws -> Content {
        try JSONDecoder().decode(type, from: Data(bytes))
    }
}
