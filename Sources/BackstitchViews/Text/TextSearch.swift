import BackstitchCore
import BackstitchStore
import Foundation

/// Finds the records that a text query asks for, and how well they fit.
///
/// Records are ranked by BM25 (Robertson and Zaragoza, "The Probabilistic Relevance Framework", 2009) with
/// k1 = 1.2 and b = 0.75: a rare word counts more than a frequent one, a second occurrence less than the
/// first, and one in a short record more than one in a long one.
struct TextSearch {
    private static let saturation = 1.2
    private static let lengthShare = 0.75
    /// What an occurrence of a word that only begins so counts, beside one of the very word.
    private static let prefixWeight = 0.5

    private let entries: ViewEntries
    private let entity: EntityNumber?
    private let index: TextIndex
    /// The weights of the texts by entity.
    private let weights: [EntityNumber: [Double]]
    private let recordCount: Double
    /// What a length of a record does to the ranking, by class.
    private let lengthFactors: [Double]

    init(
        _ view: borrowing ProjectionView<TextIndex>, entity: EntityNumber?
    ) throws {
        entries = view.source.entries
        index = view.projection
        self.entity = entity
        var weights: [EntityNumber: [Double]] = [:]
        var (records, words) = (0.0, 0.0)
        for source in index.sources.values {
            // An entity that the store does not know yet has no records.
            guard let number = view.reader.catalog.table(named: source.entity)?.number else {
                continue
            }
            weights[number] = source.weights
            guard entity == nil || entity == number else { continue }
            records += Double(try view.integer(for: TextPosting.recordCount(of: number)) ?? 0)
            words += Double(try view.integer(for: TextPosting.wordCount(of: number)) ?? 0)
        }
        self.weights = weights
        recordCount = records
        let average = records > 0 ? max(1, words / records) : 1
        lengthFactors = (0...UInt8.max).map {
            let length = Double(TextLength(rawValue: $0).wordCount)
            return Self.saturation * (1 - Self.lengthShare + Self.lengthShare * length / average)
        }
    }

    /// The records that a query finds, each with its score.
    func postings(of node: TextQuery.Node) throws -> TextPostings {
        switch node {
        case .term(let term):
            guard let term = term.without(index.stopWords) else { return TextPostings() }
            return scored(try occurrences(of: term))
        case .all(let nodes):
            var found: TextPostings?
            for node in nodes where !node.isStopped(index.stopWords) {
                if let found, found.count == 0 { return found }
                let next = try postings(of: node)
                found = found.map { TextPostings.merge($0, next, .both) } ?? next
            }
            return found ?? TextPostings()
        case .any(let nodes):
            return TextPostings.union(try nodes.map { try postings(of: $0) })
        case .excluding(let node, let excluded):
            let found = try postings(of: node)
            guard found.count > 0 else { return found }
            return TextPostings.merge(found, try postings(of: excluded), .leftOnly)
        }
    }

    /// Makes scores of how often a term occurs.
    private func scored(_ found: TextPostings) -> TextPostings {
        var found = found
        let having = Double(found.count)
        let rarity = log(1 + (max(0, recordCount - having) + 0.5) / (having + 0.5))
        for place in 0..<found.count {
            let often = found.numbers[place]
            let factor = lengthFactors[Int(found.lengths[place].rawValue)]
            found.numbers[place] = rarity * often * (Self.saturation + 1) / (often + factor)
        }
        return found
    }

    // MARK: Terms

    /// How often a term occurs in each record that has it, by the weights of the texts.
    private func occurrences(of term: TextPhrase) throws -> TextPostings {
        guard term.words.count > 1 else {
            let word = term.words[0]
            return try unsafe postings(of: word.token, isPrefix: word.isPrefix) { weights, value in
                var sum = 0.0
                unsafe TextOccurrences.forEach(in: value) { text, _ in
                    sum += text < weights.count ? weights[text] : 1
                }
                return sum
            }
        }
        return try TextPhraseSearch(phrase: term, search: self).postings()
    }

    /// Visits the entries of a word in the order of the records.
    ///
    /// - Parameter visit: Gets the record's key in the index, and the value.
    func visit(
        _ token: String, _ visit: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) throws -> Void
    ) throws {
        var start = ViewKey(bytes: TextPosting.start(token))
        let keyStart = start.bytes.count
        if let entity { start.append(bytes: TextPosting.prefix(of: entity)) }
        try unsafe entries.visit(from: start.bytes, to: start.end) { key, value in
            try unsafe visit(key.part(keyStart..<key.count), value)
            return true
        }
    }

    /// The words of the index that begin so, and their entries; as ``visit(_:_:)``.
    ///
    /// - Parameter visit: Gets whether it is another word than before, whether it is the very word, the
    ///   record's key in the index, and the value.
    func visit(
        startingWith token: String,
        _ visit: (Bool, Bool, UnsafeRawBufferPointer, UnsafeRawBufferPointer) throws -> Void
    ) throws {
        let prefix = Array(token.utf8)
        let start = ViewKey(bytes: prefix)
        var word: [UInt8] = []
        try unsafe entries.visit(from: start.bytes, to: start.end) { key, value in
            guard let end = unsafe key.firstIndex(of: 0), key.count >= end + 3 else {
                return true
            }
            let record = unsafe key.part((end + 1)..<key.count)
            if let entity, unsafe EntityNumber(UInt16(record[0]) << 8 | UInt16(record[1])) != entity
            {
                return true
            }
            let spelled = unsafe key.part(0..<end)
            let isOther = unsafe !word.withUnsafeBytes { unsafe spelled.holdsSameBytes(as: $0) }
            if isOther { word = unsafe Array(spelled) }
            try unsafe visit(isOther, end == prefix.count, record, value)
            return true
        }
    }

    func weights(ofRecord key: UnsafeRawBufferPointer) -> [Double] {
        unsafe weights[EntityNumber(UInt16(key[0]) << 8 | UInt16(key[1]))] ?? []
    }

    private func postings(
        of token: String, isPrefix: Bool,
        _ often: ([Double], UnsafeRawBufferPointer) -> Double
    ) throws -> TextPostings {
        var lists: [TextPostings] = []
        var list = TextPostings()
        var known: (entity: [UInt8], weights: [Double]) = ([], [])
        func add(
            _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, _ factor: Double
        ) {
            guard key.count > 2, let length = unsafe value.first else { return }
            if unsafe known.entity.count != 2 || known.entity[0] != key[0]
                || known.entity[1] != key[1]
            {
                known = unsafe ([key[0], key[1]], weights(ofRecord: key))
            }
            unsafe list.append(
                key, factor * often(known.weights, value), TextLength(rawValue: length))
        }
        guard isPrefix else {
            try unsafe visit(token) { unsafe add($0, $1, 1) }
            return list
        }
        try unsafe visit(startingWith: token) { isOther, isExact, key, value in
            if isOther, list.count > 0 {
                lists.append(list)
                list = TextPostings()
            }
            unsafe add(key, value, isExact ? 1 : Self.prefixWeight)
        }
        return TextPostings.union(lists + [list])
    }
}
