import Foundation
import TestBudget
import Testing

/// Each type of the public surface has its reason in a table for contributors.
@Suite(.budgeted) struct SurfaceTests {
    private typealias Types = [String: Set<String>]

    private static let baseline = "Documentation/baseline/Backstitch.txt"
    private static let table = "Documentation/internals/surface.md"
    private static let heading = "## What each type is there for"

    @Test func `the table of public types has what the surface has, each with a reason`() throws {
        let document = try #require(SourceFile(path: Self.table)).text
        let rows = Self.rows(of: try #require(document.components(separatedBy: Self.heading).last))
        let types = Self.types(of: try #require(SourceFile(path: Self.baseline)).text)
        let listed = Dictionary(rows.map { ($0.type, $0.nested) }) { first, _ in first }
        #expect(listed.count == rows.count, "a type has two lines in \(Self.table)")
        #expect(Set(types.keys).subtracting(listed.keys).sorted() == [], "say why they are there")
        #expect(Set(listed.keys).subtracting(types.keys).sorted() == [], "they are gone")
        for (type, nested) in types {
            #expect(listed[type] == nested, "what stands in \(type)")
        }
        #expect(rows.filter { $0.reason.split(separator: " ").count < 2 }.map(\.type) == [])
    }

    /// Numbers only go down, but for what the table says a reason for.
    @Test func `the surface does not grow unnoticed`() throws {
        let text = try #require(SourceFile(path: Self.baseline)).text
        #expect(Self.types(of: text).count <= 72)
        let nested = Self.declarations(of: text).filter { $0.path.count > 1 }
        #expect(nested.count <= 60)
        // What has only static members is a name space.
        let members = text.split(separator: "\n").map { $0.split(separator: "\t") }
        let enums = Self.declarations(of: text).filter { $0.keyword == "enum" }
        let spaces = enums.map { $0.path.joined(separator: ".") }.filter { name in
            !members.contains {
                $0[0].hasPrefix(name + ".") && $0.count > 1 && $0[1].hasPrefix("case ")
            }
        }
        #expect(spaces == [])
    }

    /// The localized description of a plain `Error` says nothing.
    @Test func `no public error of a library is a plain Error`() {
        let plain = Repository.swiftFiles(in: "Sources").filter { file in
            !file.path.hasPrefix("Sources/BackstitchSimulation/")
                && file.code.contains { _, line in
                    // Few lines have both words; a search for the rest takes much longer.
                    line.contains("public ") && line.contains("Error")
                        && line.contains(/public (struct|enum|final class) \w+: (.*, )?Error\b/)
                }
        }
        #expect(plain.map(\.path) == [])
    }

    /// A link with a slash goes from a type to a member, as in ``Store/close()``.
    @Test func `comments of the surface name members that are on it`() throws {
        let exported = ["Backstitch", "BackstitchRepair", "BackstitchService", "BackstitchViews"]
        let members = try exported.reduce(into: Set<String>()) { found, module in
            let file = SourceFile(path: "Documentation/baseline/\(module).txt")
            found.formUnion(Self.members(of: try #require(file).text))
        }
        let modules =
            exported + ["BackstitchCore", "BackstitchLog", "BackstitchStore", "BackstitchSync"]
        let files = modules.flatMap { Repository.swiftFiles(in: "Sources/" + $0) }
        let links = files.flatMap { file in Self.links(in: file.text).map { (file.path, $0) } }
        #expect(links.count > 30)
        let missing = links.filter { !members.contains($0.1) }
        #expect(missing.map { "\($0.0): \($0.1)" } == [])
    }

    @Test func `links of comments are read`() {
        let text = """
            /// As ``One/two(_:)`` and ``Three``, not `Four/five`.
            @discardableResult
            public func a() {}
            /// ``Six/seven``
            package func b() {}
            """
        #expect(Self.links(in: text) == ["One/two"])
        #expect(
            Self.members(of: "# One: 1 types\nOne.Two.a(_:)\tfunc a(_ b: Int)\n")
                == ["One/Two/a", "Two/a"])
    }

    /// The members of a baseline by their types, without labels.
    private static func members(of baseline: String) -> Set<String> {
        baseline.split(separator: "\n").reduce(into: Set<String>()) { members, line in
            guard !line.hasPrefix("#") else { return }
            let path = line.prefix { $0 != "\t" && $0 != "(" }.split(separator: ".")
            for start in path.indices.dropLast() {
                members.insert(path[start...].joined(separator: "/"))
            }
        }
    }

    /// The links to members in comments of public declarations, without labels.
    private static func links(in text: String) -> [String] {
        var (comment, links) = ("", [String]())
        for line in text.split(separator: "\n").map({ $0.drop { $0 == " " } }) {
            if line.hasPrefix("///") {
                comment.append(contentsOf: line.dropFirst(3))
                comment.append(" ")
            } else if !line.hasPrefix("@") {
                if line.hasPrefix("public ") {
                    links += comment.components(separatedBy: "``").map { $0.prefix { $0 != "(" } }
                        .filter { $0.contains("/") && $0.allSatisfy { $0.isLetter || $0 == "/" } }
                        .map(String.init)
                }
                comment = ""
            }
        }
        return links
    }

    @Test func `lines of a baseline and of the table are read`() {
        let text = """
            # One: 1 types
            One\tstruct One<Value> where Value : Sendable
            One.Two\tindirect enum Two
            One.Two.Three\t@frozen final class Three
            One.Two.a\tcase a
            One.name\tlet name: String
            Four(_:)\t@attached(peer) macro Four(_ name: String)
            """
        #expect(Self.types(of: text) == ["One": ["Two", "Three"]])
        let rows = Self.rows(of: "| `One` | `Two`, `Three` | why it is |\n| type | with | reason |")
        #expect(rows.map(\.type) == ["One"])
        #expect(rows.map(\.nested) == [["Two", "Three"]])
        #expect(rows.map(\.reason) == ["why it is"])
    }

    private static func declarations(of text: String) -> [(path: [String], keyword: String)] {
        text.split(separator: "\n").compactMap { line in
            let parts = line.split(separator: "\t", maxSplits: 1)
            guard parts.count == 2 else { return nil }
            let words = parts[1].split(separator: " ")
            let path = parts[0].split(separator: ".").map(String.init)
            guard let keyword = words.first(where: { !modifiers.contains($0) && $0.first != "@" }),
                keywords.contains(keyword), !parts[0].contains("(")
            else { return nil }
            return (path, String(keyword))
        }
    }

    /// The types by their names, with what stands in them at any depth.
    private static func types(of text: String) -> Types {
        declarations(of: text).reduce(into: Types()) { types, declaration in
            let (outer, inner) = (declaration.path[0], declaration.path.dropFirst())
            types[outer, default: []].formUnion(inner.suffix(1))
        }
    }

    private static func rows(
        of text: String
    ) -> [(type: String, nested: Set<String>, reason: String)] {
        text.split(separator: "\n").compactMap { line in
            let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            guard cells.count == 3, cells[0].hasPrefix("`") else { return nil }
            let names = { (cell: String) in
                cell.split { $0 == "`" || $0 == "," || $0 == " " }.map(String.init)
            }
            return (names(cells[0])[0], Set(names(cells[1])), cells[2])
        }
    }

    private static let keywords: Set<Substring> = [
        "struct", "class", "enum", "actor", "protocol", "typealias",
    ]
    private static let modifiers: Set<Substring> = ["final", "indirect", "nonisolated"]
}
