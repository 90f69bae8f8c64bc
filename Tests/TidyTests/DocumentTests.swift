import Foundation
import TestBudget
import Testing

/// Documents that name what is there.
@Suite(.budgeted) struct DocumentTests {
    @Test func `every link leads to a file`() {
        var count = 0
        for document in Repository.documents {
            let folder = (document.path as NSString).deletingLastPathComponent
            for target in Self.links(in: document.text) where !target.contains(":") {
                count += 1
                let path = target.prefix { $0 != "#" }
                let file = path.isEmpty ? document.path : "\(folder)/\(path)"
                #expect(
                    FileManager.default.fileExists(atPath: Repository.root + "/" + file),
                    "\(document.path) leads to \(target)")
            }
        }
        #expect(count > 10)
    }

    @Test func `every link into a document leads to a heading`() {
        let headings = Dictionary(
            uniqueKeysWithValues: Repository.documents.map { ($0.path, Self.anchors(in: $0.text)) })
        var count = 0
        for document in Repository.documents {
            let folder = (document.path as NSString).deletingLastPathComponent
            for target in Self.links(in: document.text) where !target.contains(":") {
                let parts = target.split(separator: "#", omittingEmptySubsequences: false)
                guard parts.count == 2 else { continue }
                count += 1
                // Only absolute paths lose their dots.
                let path = ("/\(folder)/\(parts[0])" as NSString).standardizingPath.dropFirst()
                let known = headings[parts[0].isEmpty ? document.path : String(path)] ?? []
                #expect(known.contains(String(parts[1])), "\(document.path) leads to \(target)")
            }
        }
        #expect(count > 5)
    }

    /// What links to headings are called: small letters, blanks as hyphens, no punctuation.
    private static func anchors(in text: String) -> Set<String> {
        let headings = text.split(separator: "\n").filter { $0.hasPrefix("#") }
        return Set(
            headings.map { heading in
                heading.drop { $0 == "#" }.dropFirst().lowercased()
                    .filter { $0.isLetter || $0.isNumber || "-_ ".contains($0) }
                    .replacingOccurrences(of: " ", with: "-")
            })
    }

    /// The targets of `[text](target)`, outside of code.
    private static func links(in text: String) -> [String] {
        text.split(separator: "](").dropFirst().compactMap { part in
            part.firstIndex(of: ")").map { String(part[..<$0]) }
        }.filter { !$0.contains(" ") && !$0.contains("\\") }
    }

    /// The documents that tell how the code works, for those who change it.
    private static let aboutCode = Repository.documents.filter { document in
        ["ARCHITECTURE.md", "DECISIONS.md", "CONTRIBUTING.md"].contains(document.path)
            || document.path.hasPrefix("Documentation/internals/")
                && !document.path.hasSuffix("/scale.md")
    }

    /// What these documents have in backticks, and in which of them; blocks of code are left out.
    private static func names() -> [(name: Substring, document: String)] {
        aboutCode.flatMap { document in names(in: document).map { ($0, document.path) } }
    }

    private static func names(in document: SourceFile) -> [Substring] {
        document.text.split(separator: "`", omittingEmptySubsequences: false)
            .enumerated().filter { $0.offset % 2 == 1 && !$0.element.contains("\n") }
            .map(\.element)
    }

    @Test func `the documents that tell how the code works are looked at`() {
        #expect(Self.aboutCode.count > 15)
        #expect(Self.names().count > 700)
    }

    /// Types, members, commands, settings and words of a protocol.
    @Test func `every name in these documents is in the code`() {
        let files = ["Sources", "Tests"].flatMap(Repository.paths)
        let code = files.filter { $0.hasSuffix(".swift") || $0.hasSuffix(".c") }
            .compactMap(SourceFile.init)
        var words = Set(code.flatMap { $0.code.flatMap { Self.words(of: $0.line) } })
        words.formUnion(files.flatMap { Self.words(of: $0[...]) })
        for script in ["Package.swift", "dev"].compactMap(SourceFile.init) {
            words.formUnion(Self.words(of: script.text[...]))
        }
        let missing = Self.names().filter { name, _ in
            !Self.foreign.contains(name)
                && !Self.words(of: name).allSatisfy {
                    words.contains($0) || $0.first?.isNumber == true
                }
        }
        #expect(missing.map { "\($0.document): \($0.name)" } == [])
    }

    /// A path may leave out the folders before it.
    @Test func `every path in these documents is there`() {
        let files =
            ["Sources", "Tests", "Documentation"].flatMap(Repository.paths) + ["Benchmarks"]
        let paths = Set(files.map { "/" + $0 })
        let missing = Self.names().filter { name, _ in
            guard name.contains("/"), name.first?.isUppercase == true else { return false }
            let path = "/" + (name.hasSuffix("/") ? name.dropLast() : name)
            return !paths.contains { $0.hasSuffix(path) }
        }
        #expect(missing.map { "\($0.document): \($0.name)" } == [])
    }

    /// A suite is a type, and a module of tests a folder.
    @Test func `every suite and variable that the list of tests names is there`() throws {
        let list = try #require(SourceFile(path: "Tests/README.md"))
        let names = Self.names(in: list).flatMap { Self.words(of: $0) }
        let files = ["Sources", "Tests"].flatMap { Repository.swiftFiles(in: $0) }
        let lines = files.flatMap { file in file.code.map { Self.words(of: $0.line) } }
        let keywords: Set<Substring> = ["actor", "class", "enum", "struct"]
        let types = lines.flatMap { words in
            zip(words, words.dropFirst()).filter { keywords.contains($0.0) }.map { $0.1 }
        }
        let folders = try FileManager.default.contentsOfDirectory(
            atPath: Repository.root + "/Tests")
        let suites = Set(types + folders.map { $0[...] })
        let words = Set(lines.joined())
        let isMissing = { (name: Substring) -> Bool in
            if name.hasSuffix("Tests") { return name != "Tests" && !suites.contains(name) }
            return name.contains("_") && name == name.uppercased() && !words.contains(name)
        }
        #expect(names.filter(isMissing) == [])
        #expect(names.filter { $0.hasSuffix("Tests") }.count > 100)
    }

    private static func words(of text: Substring) -> [Substring] {
        text.split { !$0.isLetter && !$0.isNumber && $0 != "_" }
    }

    /// Names of the system and of other programs.
    private static let foreign: Set<Substring> = [
        "SHA256", "Synchronization.Mutex", "pg_xact_status", "xmin",
    ]
}
