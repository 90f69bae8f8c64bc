import Foundation
import TestBudget
import Testing

/// A folder is a layer: what it names of its module is in folders below it, so that a reader can begin
/// at the bottom.
@Suite(.budgeted) struct FolderTests {
    @Test func `the folders of a module don't need each other in a circle`() {
        let files = Repository.swiftFiles(in: "Sources")
        let modules = Dictionary(grouping: files) { String($0.path.split(separator: "/")[1]) }
        #expect(modules.count > 15)
        let circles = modules.compactMap {
            module, files in
            Folders(files).circle.map { "\(module): " + $0.joined(separator: " -> ") }
        }
        #expect(circles.sorted() == [])
    }

    @Test func `a circle is found, and its way told`() {
        let files = [
            ("A", "struct One { let two: Two }"),
            ("B", #"struct Two { let text = "Four \(name(Three.self)) Four" }"#),
            ("C", "struct Three { var one: One? }"), ("D", "struct Four { let one: One }"),
        ].map { SourceFile(path: "Sources/M/\($0.0)/File.swift", text: $0.1) }
        #expect(Folders(files).circle?.sorted() == ["A", "A", "B", "C"])
        #expect(Folders([files[0], files[1], files[3]]).circle == nil)
    }
}

/// Which folders of a module name types of which others.
private struct Folders {
    private var needs: [String: Set<String>] = [:]

    init(_ files: [SourceFile]) {
        var homes: [String: String] = [:]
        for file in files {
            for (_, line) in file.code where line.first?.isWhitespace == false {
                let words = Self.words(of: line)
                guard let keyword = words.firstIndex(where: Self.keywords.contains),
                    keyword + 1 < words.count, !words.contains("extension")
                else { continue }
                homes[words[keyword + 1]] = Self.folder(of: file)
            }
        }
        for file in files {
            let folder = Self.folder(of: file)
            for (_, line) in file.code {
                for word in Self.words(of: line) {
                    if let home = homes[word], home != folder {
                        needs[folder, default: []].insert(home)
                    }
                }
            }
        }
    }

    private static let keywords: Set = [
        "struct", "class", "enum", "actor", "protocol", "typealias",
    ]

    /// The names in a line, without what is in quotes but for what a text is given.
    private static func words(of line: Substring) -> [String] {
        var (words, word, isQuoted, last) = ([String](), [UInt8](), false, UInt8(0))
        // The parentheses that are open in each part of a text that is code.
        var open: [Int] = []
        for byte in line.utf8 {
            defer { last = byte }
            switch byte {
            case UInt8(ascii: "\""): isQuoted.toggle()
            case UInt8(ascii: "(") where isQuoted && last == UInt8(ascii: "\\"):
                open.append(0)
                isQuoted = false
            case UInt8(ascii: "(") where !isQuoted && !open.isEmpty: open[open.count - 1] += 1
            case UInt8(ascii: ")") where !isQuoted && !open.isEmpty:
                if open[open.count - 1] == 0 {
                    open.removeLast()
                    isQuoted = true
                } else {
                    open[open.count - 1] -= 1
                }
            default: break
            }
            let isPart =
                (48...57).contains(byte) || (65...90).contains(byte) || (97...122).contains(byte)
                || byte == UInt8(ascii: "_")
            if isPart, !isQuoted {
                word.append(byte)
            } else if !word.isEmpty {
                words.append(String(decoding: word, as: UTF8.self))
                word.removeAll()
            }
        }
        return word.isEmpty ? words : words + [String(decoding: word, as: UTF8.self)]
    }

    /// The folder below the module's; files that are in none count as one.
    private static func folder(of file: SourceFile) -> String {
        let parts = file.path.split(separator: "/")
        return parts.count > 3 ? String(parts[2]) : "."
    }

    /// Folders that need each other, the first one again at the end; nil if there are none.
    var circle: [String]? {
        var (done, path) = (Set<String>(), [String]())
        func visit(_ folder: String) -> [String]? {
            if let start = path.firstIndex(of: folder) { return path[start...] + [folder] }
            guard done.insert(folder).inserted else { return nil }
            path.append(folder)
            defer { path.removeLast() }
            for next in (needs[folder] ?? []).sorted() {
                if let circle = visit(next) { return circle }
            }
            return nil
        }
        for folder in needs.keys.sorted() {
            if let circle = visit(folder) { return circle }
        }
        return nil
    }
}
