import BenchmarkKit
import Foundation

/// The descriptions of Debian's packages that a machine has, and generated ones for those that are missing.
struct PackageDescriptions {
    /// The first line of each, and the rest.
    private(set) var texts: [(title: String, body: String)] = []
    /// How many of them are generated.
    private(set) var generatedCount = 0

    /// - Parameters:
    ///   - path: A file of descriptions (`Translation-en`); nil for those of the package lists here.
    ///   - count: The number of descriptions.
    init(_ count: Int, from path: String?) throws {
        for file in try path.map({ [$0] }) ?? Self.packageLists where texts.count < count {
            try read(file, upTo: count)
        }
        generatedCount = count - texts.count
        generate()
    }

    private static let folder = "/var/lib/apt/lists/"

    private static var packageLists: [String] {
        get throws {
            guard FileManager.default.fileExists(atPath: folder) else { return [] }
            return try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
                .filter { $0.hasSuffix("_i18n_Translation-en") }.map { folder + $0 }
        }
    }

    private mutating func read(_ path: String, upTo count: Int) throws {
        let text = try String(contentsOf: URL(filePath: path), encoding: .utf8)
        for paragraph in text.split(separator: "\n\n") where texts.count < count {
            var (title, body) = ("", "")
            for line in paragraph.split(separator: "\n") {
                if line.hasPrefix("Description-en: ") {
                    title = String(line.dropFirst("Description-en: ".count))
                } else if line.hasPrefix(" ") {
                    body += line == " ." ? "\n" : line.dropFirst() + " "
                }
            }
            texts.append((title, body))
        }
    }

    // MARK: Generated ones

    /// The words that are searched, by how often they are: in many descriptions, in some, in few.
    private static let placed = [
        2: "this", 8: "package", 40: "library", 90: "python", 300: "window", 320: "manager",
        2_500: "calendar", 24_000: "theremin",
    ]
    private static let followers = ["this": "package", "window": "manager"]

    private mutating func generate() {
        guard generatedCount > 0 else { return }
        var random = SplitMix(seed: 7)
        var words = (0..<30_000).map { _ in
            (0..<Int.random(in: 1...4, using: &random)).reduce(into: "") { word, _ in
                word += Self.syllables[Int.random(in: 0..<Self.syllables.count, using: &random)]
            }
        }
        for (place, word) in Self.placed { words[place] = word }
        func text(_ count: Int) -> String {
            var text: [String] = []
            while text.count < count {
                // As in languages: the word at place n is there 1/n as often as the first.
                let place = Int(pow(Double(words.count), Double.random(in: 0..<1, using: &random)))
                text.append(words[place - 1])
                if let next = Self.followers[words[place - 1]], Bool.random(using: &random) {
                    text.append(next)
                }
            }
            return text.joined(separator: " ")
        }
        for _ in 0..<generatedCount {
            texts.append((text(7), text(Int.random(in: 10...90, using: &random))))
        }
    }

    private static let syllables = [
        "ba", "co", "de", "fi", "gra", "ho", "in", "ka", "lu", "mo", "ne", "or", "pi", "qua", "re",
        "so", "ta", "un", "ver", "xi",
    ]
}
