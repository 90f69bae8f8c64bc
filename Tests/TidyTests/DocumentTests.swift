import Foundation
import Testing

/// Documents that name what is there.
@Suite struct DocumentTests {
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

    /// The targets of `[text](target)`, outside of code.
    private static func links(in text: String) -> [String] {
        text.split(separator: "](").dropFirst().compactMap { part in
            part.firstIndex(of: ")").map { String(part[..<$0]) }
        }.filter { !$0.contains(" ") && !$0.contains("\\") }
    }

    /// A name in backticks that begins with a capital letter is a type, one of its members, a file or
    /// a folder.
    @Test func `every type that ARCHITECTURE.md names is in the code`() throws {
        let document = try #require(SourceFile(path: "ARCHITECTURE.md"))
        let files = Repository.swiftFiles(in: "Sources") + Repository.swiftFiles(in: "Tests")
        let words = Set(
            files.flatMap { file in
                let places = file.path.split { $0 == "/" || $0 == "." }
                return places
                    + file.code.flatMap {
                        $0.line.split { !$0.isLetter && !$0.isNumber && $0 != "_" }
                    }
            })
        let names = document.text.split(separator: "`", omittingEmptySubsequences: false)
            .enumerated().filter { $0.offset % 2 == 1 }.map(\.element)
            .filter { $0.first?.isUppercase == true && $0.allSatisfy(Self.isOfName) }
        #expect(names.count > 200)
        let missing = Set(names).filter { name in
            !Self.foreign.contains(String(name))
                && !name.split(separator: ".").allSatisfy { words.contains($0) }
        }
        #expect(missing.sorted() == [])
    }

    private static func isOfName(_ character: Character) -> Bool {
        character.isASCII && (character.isLetter || character.isNumber || character == ".")
    }

    /// Names of the system and of other programs.
    private static let foreign: Set = ["SHA256", "Synchronization.Mutex"]
}
