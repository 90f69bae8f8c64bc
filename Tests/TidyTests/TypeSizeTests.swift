import TestBudget
import Testing

/// A type is of a size that a reader can hold, over all the files that it is spread over.
@Suite(.budgeted) struct TypeSizeTests {
    /// The most lines of a type with all its extensions.
    private static let linesMax = 600

    /// Types that are larger, with the most lines that they may have. Numbers only go down.
    private static let exceptions = [
        // Every call of its public interface is documented here; what they do is in types of its own.
        "BackstitchStore.Store": 1_013
    ]

    @Test func `no type has more than 600 lines over all its extensions`() {
        let sizes = TypeSizes(Repository.swiftFiles(in: "Sources")).lines
        #expect(sizes.count > 800)
        let tooLarge = sizes.filter { $0.value > Self.exceptions[$0.key] ?? Self.linesMax }
        #expect(
            tooLarge == [:], "divide what is larger than it was, or than \(Self.linesMax) lines")
    }

    @Test func `what is said of large types is what they are`() {
        let sizes = TypeSizes(Repository.swiftFiles(in: "Sources")).lines
        let stale = Self.exceptions.filter { name, most in
            let lines = sizes[name] ?? 0
            return lines <= Self.linesMax || lines < most - 100
        }
        #expect(
            stale.keys.sorted() == [],
            "lower the numbers of these types, or take them off the list: they got smaller")
    }

    @Test func `extensions count to the type, whichever module they are in`() {
        let files = [
            ("A", "struct One {\n    let x = 1\n}\n\nenum None {}\n"),
            ("A", "extension One {\n}\n\nextension One.Two {\n    var a: Int {\n    }\n}\n"),
            ("B", "package final class One {\n}\n\nextension Two {\n}\n"),
            ("C", "extension Two: Hashable {\n}\n"), ("D", "public struct Two {\n}\n"),
        ].map { SourceFile(path: "Sources/\($0.0)/File.swift", text: $0.1) }
        let expected = ["A.One": 9, "A.None": 1, "B.One": 2, "D.Two": 6]
        #expect(TypeSizes(files).lines == expected)
    }
}

/// How many lines types have.
private struct TypeSizes {
    /// By module and name.
    private(set) var lines: [String: Int] = [:]

    private struct Declaration {
        let module: String
        let name: String
        let isExtension: Bool
        let lines: Int
    }

    init(_ files: [SourceFile]) {
        let declarations = files.flatMap(Self.declarations)
        var homes: [String: Set<String>] = [:]
        for declaration in declarations where !declaration.isExtension {
            homes[declaration.name, default: []].insert(declaration.module)
        }
        for declaration in declarations {
            let homes = homes[declaration.name] ?? []
            guard let home = homes.contains(declaration.module) ? declaration.module : homes.min()
            else { continue }
            lines["\(home).\(declaration.name)", default: 0] += declaration.lines
        }
    }

    /// What stands at the left margin, up to its closing brace there.
    private static func declarations(of file: SourceFile) -> [Declaration] {
        let module = String(file.path.split(separator: "/")[1])
        var found: [Declaration] = []
        var start: (line: Int, name: String, isExtension: Bool)?
        for (number, line) in file.code where line.first?.isWhitespace == false {
            if start == nil, let (name, isExtension) = name(in: line) {
                start = (number, name, isExtension)
            }
            if let begun = start, line.hasPrefix("}") || line.hasSuffix("}") {
                found.append(
                    Declaration(
                        module: module, name: begun.name, isExtension: begun.isExtension,
                        lines: number - begun.line + 1))
                start = nil
            }
        }
        return found
    }

    private static func name(in line: Substring) -> (name: String, isExtension: Bool)? {
        let words = line.split { !$0.isLetter && !$0.isNumber && !"_@(".contains($0) }
        guard let keyword = words.firstIndex(where: keywords.contains), keyword + 1 < words.count,
            words[..<keyword].allSatisfy({ modifiers.contains($0) || $0.hasPrefix("@") })
        else { return nil }
        return (String(words[keyword + 1]), words[keyword] == "extension")
    }

    private static let keywords: Set<Substring> = [
        "struct", "class", "enum", "actor", "extension", "protocol",
    ]
    private static let modifiers: Set<Substring> = [
        "public", "package", "internal", "private", "fileprivate", "final", "indirect", "open",
        "nonisolated",
    ]
}
