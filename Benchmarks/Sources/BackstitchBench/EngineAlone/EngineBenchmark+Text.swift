import Backstitch
import BackstitchViews
import Foundation
import PeerInterface
import PeerSQLite

/// The description of a package.
@Entity private struct Document {
    var id = ID()
    var title: String
    var body: String
}

extension EngineBenchmark {
    private static let documentsMax = 100_000
    private static let rounds = 9

    /// Full-text search beside SQLite's FTS5: building an index of descriptions of packages, then the best
    /// 20 for words and phrases of many documents, some and few.
    mutating func text() throws {
        let descriptions = try PackageDescriptions(Self.documentsMax, from: options.text)
        let documents = descriptions.texts.enumerated().map { number, text in
            Document(id: .init(String(number + 1_000_001)), title: text.title, body: text.body)
        }
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let index = TextIndex(
            "search", TextSource(Document.self, \.title, \.body, weights: [4, 1]))
        let store = try Store(
            at: URL(filePath: folder + "/text"), schema: StoreSchema(Document.self),
            configuration: StoreConfiguration(durability: .relaxed, projections: [index]))
        defer { remove(store) }
        let path = folder + "/text.sqlite"
        guard let peer = peer_fts_open(path) else { throw Self.peerFailure }
        defer { peer_fts_close(peer) }
        note("text-documents", Double(documents.count), "")
        note("text-generated", Double(descriptions.generatedCount), "")
        try build(documents, store, peer)
        for (name, query) in [
            ("word-frequent", "library"), ("word", "calendar"), ("word-rare", "theremin"),
            ("phrase", #""window manager""#), ("phrase-frequent", #""this package""#),
            ("words", "python library"), ("beginning", "calen*"),
        ] {
            try search(name, query, index, store, peer)
        }
    }

    private mutating func build(
        _ documents: [Document], _ store: Store, _ peer: OpaquePointer
    ) throws {
        var (own, other) = (0.0, 0.0)
        for start in stride(from: 0, to: documents.count, by: 1_000) {
            let part = documents[start..<min(start + 1_000, documents.count)]
            let began = peer_nanoseconds()
            try store.write { transaction in
                for document in part { try transaction.save(document) }
            }
            let saved = peer_nanoseconds()
            try Self.insert(part, peer)
            own += Double(saved - began)
            other += Double(peer_nanoseconds() - saved)
        }
        note("text-insert", own / Double(documents.count))
        note("text-insert-fts5", other / Double(documents.count))
    }

    private static func insert(_ documents: ArraySlice<Document>, _ peer: OpaquePointer) throws {
        var bytes: [CChar] = []
        var counts: [(title: Int, body: Int)] = []
        for document in documents {
            bytes += document.title.utf8.map { CChar(bitPattern: $0) }
            bytes += document.body.utf8.map { CChar(bitPattern: $0) }
            counts.append((document.title.utf8.count, document.body.utf8.count))
        }
        try bytes.withUnsafeBufferPointer { bytes in
            var (titles, bodies): ([peer_text], [peer_text]) = ([], [])
            var start = bytes.baseAddress
            for count in counts {
                titles.append(peer_text(bytes: start, count: UInt32(count.title)))
                start = start?.advanced(by: count.title)
                bodies.append(peer_text(bytes: start, count: UInt32(count.body)))
                start = start?.advanced(by: count.body)
            }
            guard peer_fts_insert(peer, titles, bodies, titles.count) == 0 else {
                throw Self.peerFailure
            }
        }
    }

    private mutating func search(
        _ name: String, _ query: String, _ index: TextIndex, _ store: Store, _ peer: OpaquePointer
    ) throws {
        let asked = TextQuery(query, prefixes: .none)
        var (own, other): ([Int64], [Int64]) = ([], [])
        for _ in 0..<Self.rounds {
            let start = peer_nanoseconds()
            let found = try store.read {
                try $0.view(of: index).records(asked, of: Document.self, limit: 20).count
            }
            let middle = peer_nanoseconds()
            let count = peer_fts_search(peer, query, 20)
            let end = peer_nanoseconds()
            guard count == found else {
                throw EngineFailure(
                    description: "\(query): \(found) documents, and \(count) of FTS5")
            }
            own.append(middle - start)
            other.append(end - middle)
        }
        note("text-\(name)", Double(own.sorted()[Self.rounds / 2]))
        note("text-\(name)-fts5", Double(other.sorted()[Self.rounds / 2]))
    }

    private static var peerFailure: EngineFailure {
        EngineFailure(description: String(cString: peer_error_message()))
    }
}
