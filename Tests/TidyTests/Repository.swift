import Foundation

/// The files of the repository, as text.
enum Repository {
    static let root = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().path

    /// The Swift files of a folder, by their paths in the repository.
    static func swiftFiles(in folder: String) -> [SourceFile] {
        paths(in: folder).filter { $0.hasSuffix(".swift") }.compactMap(SourceFile.init)
    }

    /// The documents.
    static let documents: [SourceFile] = {
        let top = try? FileManager.default.contentsOfDirectory(atPath: root).sorted()
        let below = ["Sources", "Tests", "Benchmarks", "Documentation"].flatMap(paths)
        return ((top ?? []) + below).filter { $0.hasSuffix(".md") && !$0.contains("/.build/") }
            .compactMap(SourceFile.init)
    }()

    static func paths(in folder: String) -> [String] {
        let found = FileManager.default.enumerator(atPath: root + "/" + folder)
        var paths: [String] = []
        while let path = found?.nextObject() as? String {
            if path.hasPrefix(".build") {
                found?.skipDescendants()
            } else {
                paths.append(folder + "/" + path)
            }
        }
        return paths.sorted()
    }
}

/// A text file.
struct SourceFile: Sendable {
    /// Its path in the repository.
    let path: String
    let text: String

    init?(path: String) {
        guard let data = FileManager.default.contents(atPath: Repository.root + "/" + path) else {
            return nil
        }
        self.path = path
        text = String(decoding: data, as: UTF8.self)
    }

    init(path: String, text: String) {
        self.path = path
        self.text = text
    }

    /// The lines that are no comments, with their numbers from 1.
    var code: [(number: Int, line: Substring)] {
        text.split(separator: "\n", omittingEmptySubsequences: false).enumerated()
            .compactMap { index, line in
                let isComment = line.drop { $0 == " " }.hasPrefix("//")
                return isComment ? nil : (index + 1, line)
            }
    }

    /// The modules that it imports.
    var imports: Set<String> {
        Set(
            code.compactMap { _, line in
                // What is indented is in a text.
                guard line.first?.isWhitespace == false else { return nil }
                let words = line.split(separator: " ")
                guard let index = words.firstIndex(of: "import"), index + 1 < words.count,
                    words[..<index].allSatisfy({ Self.qualifiers.contains(String($0)) })
                else { return nil }
                return String(words[index + 1].prefix { $0 != "." })
            })
    }

    private static let qualifiers: Set = [
        "public", "package", "internal", "fileprivate", "private", "@testable",
        "@_spi(Testing)", "@preconcurrency",
    ]

    /// The lines of code that contain one of some texts, as `path:line: text`.
    func lines(with texts: [String]) -> [String] {
        code.filter { _, line in texts.contains { line.contains($0) } }
            .map { "\(path):\($0.number): \($0.line.trimmingCharacters(in: .whitespaces))" }
    }
}
