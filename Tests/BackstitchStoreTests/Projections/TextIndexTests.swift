import Backstitch
import BackstitchCore
import BackstitchViews
import Foundation
import LMDB
import TestBudget
import Testing

@testable import BackstitchStore

@Entity struct Article: Equatable {
    var id = ID()
    var title: String
    var body: String?
    var likes = 0
}

@Entity struct Author: Equatable {
    var id = ID()
    var name: String
}

@Suite(.budgeted) struct TextIndexTests {
    private let index = TextIndex(
        "search", TextSource(Article.self, \.title, \.body), TextSource(Author.self, \.name))

    private func open() throws -> Store {
        try Store.projecting(index, schema: StoreSchema(Article.self, Author.self))
    }

    private func search(
        _ store: Store, _ text: String, of entity: String? = nil, _ prefixes: TextPrefixes = .last,
        limit: Int = 50
    ) throws -> [String] {
        try store.read { transaction in
            try transaction.view(of: index).matches(
                TextQuery(text, prefixes: prefixes), of: entity, limit: limit
            ).map { $0.record.name }
        }
    }

    private func entries(_ store: Store) throws -> Int {
        try store.read { try $0.view(of: index).count() }
    }

    @Test func `words are found without case and diacritics, wherever they stand`() async throws {
        let store = try open()
        try await store.write { transaction in
            try transaction.save(Article(id: "1", title: "Café Straße", body: "Don’t panic: 3.14!"))
            try transaction.save(Article(id: "2", title: "CAFE\u{301} İstanbul", body: nil))
            try transaction.save(Article(id: "3", title: "東京タワー ΟΔΟΣ", body: "한국어 ضَرَبَ"))
            try transaction.save(Author(id: "a", name: "Cafer"))
        }
        #expect(Set(try search(store, "cafe", .none)) == ["1", "2"])
        #expect(Set(try search(store, "CAFÉ", .none)) == ["1", "2"])
        #expect(Set(try search(store, "cafe")) == ["1", "2", "a"])
        #expect(try search(store, "cafe", of: "Author") == ["a"])
        #expect(try search(store, "STRASSE", .none) == ["1"])
        #expect(try search(store, "don't", .none) == ["1"])
        #expect(try search(store, "3.14", .none) == ["1"])
        #expect(try search(store, "istanbul", .none) == ["2"])
        #expect(try search(store, "京", .none) == ["3"])
        #expect(try search(store, "東京", .none) == ["3"])
        #expect(try search(store, "οδος", .none) == ["3"])
        #expect(try search(store, "한국", .last) == ["3"])
        #expect(try search(store, "ضرب", .none) == ["3"])
        #expect(try search(store, "pan cafe", .all) == ["1"])
        #expect(try search(store, "pan cafe", .last) == [])
        for nothing in ["", "  ", "!?", "…", "zebra", "caf", "\u{0}"] {
            #expect(try search(store, nothing, .none) == [], "\(nothing)")
        }
        #expect(try store.verify().problems == [])
    }

    @Test func `the best come first, equals in the order of their keys, up to the limit`()
        async throws
    {
        let store = try open()
        try await store.write { transaction in
            try transaction.save(Article(id: "c", title: "swift", body: nil))
            try transaction.save(Article(id: "b", title: "swift swift", body: "swift"))
            try transaction.save(Article(id: "a", title: "swiftly", body: nil))
            try transaction.save(Article(id: "d", title: "Swift", body: nil))
        }
        #expect(try search(store, "swift") == ["b", "c", "d", "a"])
        // The first of the two words is whole.
        #expect(try search(store, "swift swift") == ["b", "c", "d"])
        #expect(try search(store, "swift", limit: 2) == ["b", "c"])
        #expect(try search(store, "swift", limit: 0) == [])
        let found = try store.read {
            try $0.view(of: index).records("swift", of: Article.self, limit: 1)
        }
        #expect(found.map(\.id) == ["b"])
        let error = failure { _ = try search(store, "x", of: "Nobody") }
        #expect(error?.code == .unknownEntity)
    }

    @Test func `an update touches only the words that changed`() async throws {
        let store = try open()
        let words = (0..<500).map { "word\($0)" }
        let text = words.joined(separator: " ")
        try await store.write { _ = try $0.save(Article(id: "1", title: "t", body: text)) }
        // Two of the entries count records and words.
        #expect(try entries(store) == 503)
        let changes = try await store.withWriteContext { context in
            let transaction = WriteTransaction(context: context, types: store.types)
            let before = context.log.access.changeCount
            try transaction.save(Article(id: "1", title: "t", body: text + " more word3"))
            let first = context.log.access.changeCount
            try transaction.save(Article(id: "1", title: "t", body: text + " more word3", likes: 2))
            return (first - before, context.log.access.changeCount - first)
        }
        // The operation and the row, two entries, and the number of all words.
        #expect(changes == (5, 2))
        #expect(try search(store, "word3", .none) == ["1"])
        try await store.write { _ = try $0.delete(Article.ID("1")) }
        #expect(try entries(store) == 0)
    }

    @Test func `long words, long names and huge texts have their place`() async throws {
        let store = try open()
        let name = String(repeating: "n", count: 255)
        let long = String(repeating: "é", count: 5_000)
        let huge = (0..<40_000).map { "w\($0 % 9_000)" }.joined(separator: " ")
        let marks = "a" + String(repeating: "\u{301}", count: 100_000)
        try await store.write { transaction in
            try transaction.save(Article(id: .init(name), title: long, body: huge))
            try transaction.save(Article(id: "marks", title: marks, body: ""))
        }
        #expect(try search(store, long, .none) == [name])
        #expect(try search(store, "w8999", .none) == [name])
        #expect(try search(store, "a", .none) == ["marks"])
        #expect(try entries(store) == 9_004)
        try await store.write { transaction in
            try transaction.save(Article(id: .init(name), title: "", body: nil))
        }
        #expect(try entries(store) == 3)
        #expect(try store.verify().problems == [])
    }

    @Test(arguments: 1...8 as ClosedRange<UInt64>)
    func `the answers are those of reading every record`(seed: UInt64) async throws {
        let store = try open()
        var random = SeededGenerator(seed: seed)
        let vocabulary = [
            "ada", "Adam", "ÀDA", "bob", "bobby", "c3po", "x", "日本", "don't", "naïve",
        ]
        func text() -> String {
            (0..<Int.random(in: 0...5, using: &random)).map { _ in
                vocabulary.randomElement(using: &random) ?? ""
            }.joined(separator: [" ", ", ", "\n"].randomElement(using: &random) ?? " ")
        }
        for _ in 0..<15 {
            let number = Int.random(in: 0..<12, using: &random)
            let article = Article(
                id: .init("a\(number)"), title: text(),
                body: Bool.random(using: &random) ? text() : nil)
            let author = Author(id: .init("b\(number)"), name: text())
            let deletes = Int.random(in: 0..<4, using: &random) == 0
            try await store.write { transaction in
                try transaction.save(article)
                try transaction.save(author)
                if deletes { _ = try transaction.delete(article.id) }
            }
            let question = text()
            let prefixes = TextPrefixes.allCases.randomElement(using: &random) ?? .none
            #expect(
                Set(try search(store, question, prefixes))
                    == (try naive(store, question, prefixes)), "seed \(seed): \(question)")
        }
        #expect(try store.verify().problems == [], "seed \(seed)")
    }

    /// The records that have all words, found by reading every record.
    private func naive(
        _ store: Store, _ question: String, _ prefixes: TextPrefixes
    ) throws -> Set<String> {
        func words(_ text: String) -> [String] {
            text.split { " ,\n".contains($0) }.flatMap { word -> [String] in
                let folded = word.folding(
                    options: [.caseInsensitive, .diacriticInsensitive], locale: nil)
                return folded == "日本" ? ["日", "本"] : [folded]
            }
        }
        let asked = words(question)
        guard !asked.isEmpty else { return [] }
        func matches(_ text: String) -> Bool {
            let known = words(text)
            return asked.enumerated().allSatisfy { place, word in
                let isLast = place == asked.count - 1
                let isPrefix = prefixes == .all || (prefixes == .last && isLast)
                return known.contains { isPrefix ? $0.hasPrefix(word) : $0 == word }
            }
        }
        return try store.read { transaction in
            let articles = try transaction.fetch(Article.self).filter {
                matches($0.title + " " + ($0.body ?? ""))
            }
            let authors = try transaction.fetch(Author.self).filter { matches($0.name) }
            return Set(articles.map { "\($0.id)" } + authors.map { "\($0.id)" })
        }
    }
}
