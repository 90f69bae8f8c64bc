import Foundation

/// The targets of the package, read from its manifest.
struct Manifest {
    struct Target {
        let name: String
        /// The folder of its files.
        let folder: String
        let dependencies: Set<String>
    }

    let targets: [Target]

    /// - Throws: where the manifest is not as it is expected.
    init(_ text: String) throws {
        var targets: [Target] = []
        let kinds = [
            ".target(", ".executableTarget(", ".testTarget(", ".macro(", ".systemLibrary(",
        ]
        var rest = text[...]
        while let start = kinds.compactMap({ rest.range(of: $0) }).min(by: {
            $0.lowerBound < $1.lowerBound
        }) {
            let kind = rest[start]
            let arguments = Self.balanced(rest[start.upperBound...])
            rest = rest[arguments.endIndex...]
            guard let name = Self.strings(after: "name:", in: arguments).first else {
                throw Unexpected(text: String(arguments))
            }
            let path = Self.strings(after: "path:", in: arguments).first
            targets.append(
                Target(
                    name: name,
                    folder: path ?? (kind == ".testTarget(" ? "Tests/" : "Sources/") + name,
                    dependencies: Set(Self.strings(after: "dependencies:", in: arguments))))
        }
        self.targets = targets
    }

    struct Unexpected: Error {
        let text: String
    }

    /// A text up to the bracket that closes the one before it.
    private static func balanced(_ text: Substring) -> Substring {
        var depth = 1
        let end = text.firstIndex { character in
            if character == "(" { depth += 1 }
            if character == ")" { depth -= 1 }
            return depth == 0
        }
        return text[..<(end ?? text.endIndex)]
    }

    /// The string behind a label, or all strings of the list behind it.
    private static func strings(after label: String, in text: Substring) -> [String] {
        guard let start = text.range(of: label)?.upperBound else { return [] }
        let value = text[start...].drop { $0.isWhitespace }
        let end = value.hasPrefix("[") ? value.firstIndex(of: "]") : value.firstIndex(of: ",")
        let parts = value[..<(end ?? value.endIndex)].split(
            separator: "\"", omittingEmptySubsequences: false)
        return parts.indices.filter { $0 % 2 == 1 }.map { String(parts[$0]) }
    }
}
