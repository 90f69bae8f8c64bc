import Backstitch
import BackstitchCore
import Foundation
import LMDB
import TestBudget
import Testing

@testable import BackstitchStore
@testable import BackstitchViews

@Suite(.budgeted) struct TextQueryTests {
    private static let index = TextIndex(
        "search", TextSource(Article.self, \.title, \.body, weights: [3]))

    private func open(
        _ articles: [Article], index: TextIndex = index
    ) async throws -> Store {
        let store = try Store.projecting(index, schema: StoreSchema(Article.self, Author.self))
        try await store.write { transaction in
            for article in articles { try transaction.save(article) }
        }
        return store
    }

    private func names(
        _ store: Store, _ query: TextQuery, index: TextIndex = index,
        where condition: Query<Article>? = nil, limit: Int = 50
    ) throws -> [String] {
        try store.read {
            try $0.view(of: index).records(
                query, of: Article.self, where: condition, limit: limit
            ).map { "\($0.id)" }
        }
    }

    private let articles = [
        Article(id: "1", title: "The analytical engine", body: "Notes by Ada Lovelace"),
        Article(id: "2", title: "Engine notes", body: "An engine that is analytical, by Ada"),
        Article(id: "3", title: "Compilers", body: "Grace Hopper on the engine room", likes: 7),
        Article(id: "4", title: "e-mail", body: "Send an e-mail, not mail; e is a letter"),
        Article(id: "5", title: "東京タワー", body: "京東"),
    ]

    @Test func `phrases, alternatives, exclusions and beginnings are what people type`()
        async throws
    {
        let store = try await open(articles)
        let expected: [(TextQuery, Set<String>)] = [
            (#""analytical engine""#, ["1"]),
            (#""Analytical   ENGINE""#, ["1"]),
            (#"“analytical engine"#, ["1"]),
            ("analytical engine", ["1", "2"]),
            (#""engine that is""#, ["2"]),
            (#""engine notes""#, ["2"]),
            // The title's last word and the body's first are no phrase.
            (#""engine an""#, []),
            (#""ada love""#, []),
            ("ada love", ["1"]),
            ("grace OR lovelace", ["1", "3"]),
            ("ada engine OR hopper", ["1", "2", "3"]),
            ("engine -ada", ["3"]),
            (#"engine -"by ada""#, ["3"]),
            (#"engine -"engine room""#, ["1", "2"]),
            ("-ada", []),
            ("-ada OR grace", ["3"]),
            ("OR", []),
            ("grace OR", ["3"]),
            ("OR grace", ["3"]),
            ("analyt* hopper OR lovel*", ["1"]),
            ("analyt hopper OR x", []),
            ("e-mail", ["4"]),
            ("e-mai", ["4"]),
            ("letter-e", []),
            ("東京", ["5"]),
            ("京東", ["5"]),
            ("タワー", ["5"]),
            ("", []), ("\"", []), ("\"\"", []), ("-", []), ("- -", []), ("*", []), ("-\"", []),
            (.phrase("by Ada"), ["1", "2"]),
            (.phrase(""), []),
            (.all("ada", .phrase("analytical engine")), ["1"]),
            (.any(.phrase("engine room"), .phrase("e mail")), ["3", "4"]),
            (.any(), []),
            (TextQuery("engine").excluding("ada"), ["3"]),
            (TextQuery("engine").excluding(""), ["1", "2", "3"]),
        ]
        for (query, names) in expected {
            #expect(Set(try self.names(store, query)) == names, "\(query)")
        }
        #expect(try store.verify().problems == [])
    }

    @Test func `rare words, short records and weighty texts come first`() async throws {
        let store = try await open([
            Article(id: "body", title: "other", body: "swift"),
            Article(id: "title", title: "swift", body: "other"),
            Article(
                id: "long", title: "other", body: "swift " + String(repeating: "x ", count: 60)),
            Article(id: "rare", title: "zebra", body: "other other"),
            Article(id: "common", title: "other", body: "zebras other"),
        ])
        #expect(try names(store, "swift") == ["title", "body", "long"])
        #expect(try names(store, "other OR zebra").first == "rare")
        #expect(try names(store, "zebra") == ["rare", "common"])
        let scores = try store.read {
            try $0.view(of: Self.index).matches("swift OR zebra").map(\.score)
        }
        #expect(scores.allSatisfy { $0 > 0 })
        #expect(scores == scores.sorted(by: >))
    }

    @Test func `a query narrows what is found, up to the limit`() async throws {
        let store = try await open(
            (0..<100).map {
                Article(id: .init("\(1_000 + $0)"), title: "swift", body: nil, likes: $0)
            })
        let liked = Query<Article>().where(\.likes, atLeast: 90)
        #expect(try names(store, "swift", where: liked).count == 10)
        #expect(try names(store, "swift", where: liked, limit: 3) == ["1090", "1091", "1092"])
        #expect(
            try names(store, "swi", where: Query().where(#Predicate { $0.likes == 5 })) == ["1005"])
        #expect(try names(store, "swift", limit: 5).count == 5)
        #expect(try names(store, "swift", limit: -1) == [])
        for wrong in [liked.limit(1), liked.offset(1), liked.sorted(by: \.likes)] {
            let error = failure { _ = try names(store, "swift", where: wrong) }
            #expect(error?.code == .invalidQuery)
        }
    }

    @Test func `snippets show the words that were asked for, where they stand closest`()
        async throws
    {
        let filler = (0..<40).map { "w\($0)" }.joined(separator: " ")
        let store = try await open([
            Article(id: "1", title: "Ada", body: "\(filler) Café ada, the engine. \(filler)"),
            Article(id: "2", title: "Engine", body: nil),
        ])
        func snippet(_ query: TextQuery, words: Int = 8) throws -> TextSnippet? {
            try store.read {
                try $0.view(of: Self.index).hits(query, of: Article.self).first {
                    $0.record.id == "1"
                }?.snippet(wordCount: words)
            }
        }
        let found = try #require(try snippet("cafe eng"))
        #expect(found.text == "w38 w39 Café ada, the engine. w0 w1")
        #expect(found.matches.map { String(found.text[$0]) } == ["Café", "engine"])
        #expect(found.isCutBefore && found.isCutAfter)
        let phrase = try #require(try snippet(#""ada the engine" -zebra"#, words: 3))
        #expect(phrase.text == "ada, the engine")
        #expect(phrase.matches.count == 3)
        let short = try #require(try snippet("ada", words: 1))
        #expect(short.text == "Ada" && !short.isCutBefore && !short.isCutAfter)
        #expect(try snippet("ada", words: 0)?.text == "Ada")
    }

    @Test func `stop words are not kept, not asked for, and leave their place in phrases`()
        async throws
    {
        let index = TextIndex(
            "search", TextSource(Article.self, \.title, \.body),
            stopWords: TextIndex.englishStopWords)
        let store = try await open(
            [
                Article(id: "1", title: "State of the art", body: nil),
                Article(id: "2", title: "art of state", body: "the"),
            ], index: index)
        #expect(try names(store, "the art ", index: index) == ["1", "2"])
        #expect(try names(store, #""state of the art""#, index: index) == ["1"])
        #expect(try names(store, #""state in an art""#, index: index) == ["1"])
        #expect(try names(store, #""state art""#, index: index) == [])
        #expect(try names(store, TextQuery("the of", prefixes: .none), index: index) == [])
        // Whoever types "the" may go on to "theatre".
        #expect(try names(store, "the", index: index) == [])
        let words = try store.read { try $0.view(of: index).count() }
        #expect(words == 4 + 2)
    }

    @Test func `classes of lengths ascend and are near`() {
        var last = TextLength(wordCount: 0)
        #expect(last.wordCount == 0)
        for count in Array(1...5_000) + [1 << 20, 1 << 40, .max] {
            let length = TextLength(wordCount: count)
            #expect(length.rawValue >= last.rawValue)
            #expect(
                length.wordCount <= count && (count >= 1 << 40 || length.wordCount * 9 >= count * 8)
            )
            last = length
        }
        #expect(TextLength(wordCount: -1).wordCount == 0)
    }

    @Test(arguments: 1...12 as ClosedRange<UInt64>)
    func `answers, order and scores are those of reading every record`(seed: UInt64) async throws {
        var random = SeededGenerator(seed: seed)
        let vocabulary = ["ada", "adam", "bob", "bobby", "x", "x", "x", "engine", "don't"]
        func text(_ count: ClosedRange<Int>) -> String {
            (0..<Int.random(in: count, using: &random)).map { _ in
                vocabulary.randomElement(using: &random) ?? ""
            }.joined(separator: " ")
        }
        let store = try await open([])
        for _ in 0..<6 {
            let changed = (0..<8).map { _ in
                Article(
                    id: .init("a\(Int.random(in: 10..<30, using: &random))"), title: text(0...4),
                    body: Bool.random(using: &random) ? text(0...40) : nil)
            }
            let deleted = Article.ID("a\(Int.random(in: 10..<30, using: &random))")
            try await store.write { transaction in
                for article in changed { try transaction.save(article) }
                _ = try transaction.delete(deleted)
            }
            let all = try store.read { try $0.fetch(Article.self) }
            for _ in 0..<25 {
                var parts: [String] = []
                for _ in 0..<Int.random(in: 1...4, using: &random) {
                    switch Int.random(in: 0..<8, using: &random) {
                    case 0: parts.append("OR")
                    case 1: parts.append("-" + text(1...1))
                    case 2: parts.append("\"\(text(1...3))\"")
                    case 3: parts.append(String(text(1...1).prefix(2)) + "*")
                    default: parts.append(text(1...1))
                    }
                }
                let typed = parts.joined(separator: " ")
                let prefixes = TextPrefixes.allCases.randomElement(using: &random) ?? .none
                let limit = Int.random(in: 1...30, using: &random)
                let wanted = PlainSearch(all, weights: [3, 1]).ranking(typed, prefixes)
                let found = try store.read {
                    try $0.view(of: Self.index).matches(
                        TextQuery(typed, prefixes: prefixes), limit: limit)
                }
                // Equal scores may differ in their last bits, by the order of a sum.
                let scores = Dictionary(uniqueKeysWithValues: wanted.map { ($0.name, $0.score) })
                #expect(found.count == min(limit, wanted.count), "seed \(seed): \(typed)")
                #expect(Set(found.map(\.record)).count == found.count)
                for (match, plain) in zip(found, wanted) {
                    #expect(abs(match.score - plain.score) < 1e-9, "seed \(seed): \(typed)")
                    let own = try #require(scores[match.record.name], "seed \(seed): \(typed)")
                    #expect(abs(match.score - own) < 1e-9, "seed \(seed): \(typed)")
                }
            }
        }
        #expect(try store.verify().problems == [], "seed \(seed)")
    }

    @Test(arguments: 1...4 as ClosedRange<UInt64>)
    func `any text is a query`(seed: UInt64) async throws {
        var random = SeededGenerator(seed: seed)
        let store = try await open(articles)
        let alphabet = Array("ae \"-*OR”«»\u{0}\u{301}京🏳️‍🌈\n\t'’.(){}:^~\\")
        for _ in 0..<500 {
            let typed = String(
                (0..<Int.random(in: 0...30, using: &random)).compactMap { _ in
                    alphabet.randomElement(using: &random)
                })
            _ = try names(store, TextQuery(typed))
            _ = try store.read {
                try $0.view(of: Self.index).hits(TextQuery(typed), of: Article.self).map {
                    $0.snippet()
                }
            }
        }
        let endless = String(repeating: "engine ada ", count: 100_000)
        #expect(Set(try names(store, TextQuery(endless))) == ["1", "2"])
        #expect(try names(store, TextQuery(String(repeating: "\"", count: 100_000))) == [])
    }
}

/// The same search by reading every record: written from the table in ``TextQuery`` and the formula alone.
private struct PlainSearch {
    let records: [(name: String, texts: [[String]])]
    let weights: [Double]

    init(_ articles: [Article], weights: [Double]) {
        records = articles.map { article in
            (
                "\(article.id)",
                [article.title, article.body ?? ""].map {
                    $0.split(separator: " ").map(String.init)
                }
            )
        }
        self.weights = weights
    }

    private struct Part: Hashable {
        var words: [String]
        var isPrefix: Bool
    }

    func ranking(_ typed: String, _ prefixes: TextPrefixes) -> [(name: String, score: Double)] {
        var best: [String: Double] = [:]
        let chunks = Self.chunks(typed)
        var total: [[String: Double]] = []
        for group in chunks.split(separator: "OR", omittingEmptySubsequences: false) {
            var wanted: [Part] = []
            var excluded: [Part] = []
            for place in group.indices {
                var chunk = group[place]
                let isExcluded = chunk.hasPrefix("-")
                if isExcluded { chunk.removeFirst() }
                let isQuoted = chunk.hasPrefix("\"")
                let words = chunk.filter { $0 != "\"" && $0 != "*" }.split(separator: " ").map(
                    String.init)
                guard !words.isEmpty else { continue }
                let isLast = place == chunks.count - 1
                let isPrefix =
                    !isQuoted && !isExcluded
                    && (prefixes == .all || chunk.hasSuffix("*") || prefixes == .last && isLast)
                let part = Part(words: words, isPrefix: isPrefix)
                if isExcluded {
                    excluded.append(part)
                } else if !wanted.contains(part) {
                    wanted.append(part)
                }
            }
            guard !wanted.isEmpty else { continue }
            var scores: [String: Double] = [:]
            for record in records {
                guard wanted.allSatisfy({ often($0, record.texts) > 0 }),
                    !excluded.contains(where: { often($0, record.texts) > 0 })
                else { continue }
                scores[record.name] = wanted.reduce(0) { $0 + score($1, record.texts) }
            }
            total.append(scores)
        }
        for scores in total { best.merge(scores) { $0 + $1 } }
        return best.map { ($0.key, $0.value) }.sorted {
            abs($0.1 - $1.1) > 1e-12 ? $0.1 > $1.1 : $0.0 < $1.0
        }
    }

    private static func chunks(_ typed: String) -> [String] {
        var chunks: [String] = []
        var isOpen = false
        for piece in typed.split(separator: " ").map(String.init) {
            if isOpen { chunks[chunks.count - 1] += " " + piece } else { chunks.append(piece) }
            if piece.filter({ $0 == "\"" }).count == 1 { isOpen.toggle() }
        }
        return chunks
    }

    private func often(_ part: Part, _ texts: [[String]]) -> Double {
        var sum = 0.0
        for (text, words) in texts.enumerated() where words.count >= part.words.count {
            for start in 0...(words.count - part.words.count) {
                let piece = Array(words[start..<(start + part.words.count)])
                if piece == part.words {
                    sum += weights[text]
                } else if part.isPrefix, piece.dropLast() == part.words.dropLast()[...],
                    piece.last?.hasPrefix(part.words.last ?? "") == true
                {
                    sum += weights[text] * 0.5
                }
            }
        }
        return sum
    }

    private func score(_ part: Part, _ texts: [[String]]) -> Double {
        let counts = records.map { $0.texts.reduce(0) { $0 + $1.count } }.filter { $0 > 0 }
        let average = Double(counts.reduce(0, +)) / Double(counts.count)
        let having = Double(records.filter { often(part, $0.texts) > 0 }.count)
        let length = Double(TextLength(wordCount: texts.reduce(0) { $0 + $1.count }).wordCount)
        let number = Double(counts.count)
        let rarity = log(1 + (number - having + 0.5) / (having + 0.5))
        let sum = often(part, texts)
        let factor: Double = 1.2 * (0.25 + 0.75 * length / average)
        return rarity * sum * 2.2 / (sum + factor)
    }
}
