import BackstitchCore
import BackstitchStore

/// Finds the records that have all words of a question.
struct TextSearch {
    /// A word, or what words begin with.
    struct Term: Hashable {
        let token: String
        let isPrefix: Bool
    }

    /// What an occurrence of the very word counts, beside one of a word that only begins so.
    private static let exactWeight = 2

    let terms: [Term]
    private let entries: ViewEntries
    private let entity: EntityNumber?

    init(_ text: String, prefixes: TextPrefixes, _ entries: ViewEntries, entity: EntityNumber?) {
        self.entries = entries
        self.entity = entity
        var tokens: [String] = []
        TextTokens.forEach(in: text) { tokens.append($0) }
        let last = tokens.last
        var terms: [Term] = []
        for token in tokens {
            let isPrefix = prefixes == .all || (prefixes == .last && token == last)
            let term = Term(token: token, isPrefix: isPrefix)
            if !terms.contains(term) { terms.append(term) }
        }
        // The longest whole word is likely the rarest: its records are the candidates for the others.
        self.terms = terms.sorted {
            if $0.isPrefix != $1.isPrefix { return !$0.isPrefix }
            return ($0.token.utf8.count, $1.token) > ($1.token.utf8.count, $0.token)
        }
    }

    /// The records that have all terms, with the sum of what their occurrences count.
    func scores() throws -> [TextPosting: Int] {
        guard let first = terms.first else { return [:] }
        var scores = try postings(of: first, among: nil)
        for term in terms.dropFirst() where !scores.isEmpty {
            let found =
                try term.isPrefix
                ? postings(of: term, among: scores) : occurrences(of: term, in: scores)
            scores = found
        }
        return scores
    }

    /// The records that have a term, on top of the scores of candidates.
    private func postings(
        of term: Term, among candidates: [TextPosting: Int]?
    ) throws -> [TextPosting: Int] {
        var found: [TextPosting: Int] = [:]
        let word = Array(term.token.utf8)
        var start = ViewKey(bytes: word)
        if !term.isPrefix {
            start.append(bytes: [0])
            if let entity { start.append(bytes: TextPosting.prefix(of: entity)) }
        }
        try unsafe entries.visit(from: start.bytes, to: start.end) { key, value in
            guard let end = unsafe key.firstIndex(of: 0) else { return true }
            let posting = unsafe TextPosting(key[(end + 1)...])
            if let entity, posting.entity != entity { return true }
            if let candidates, candidates[posting] == nil { return true }
            let weight = end == word.count ? Self.exactWeight : 1
            unsafe found[posting, default: candidates?[posting] ?? 0] += weight * Self.count(value)
            return true
        }
        return found
    }

    /// The candidates that have a whole word, with its occurrences on top of their scores.
    private func occurrences(
        of term: Term, in candidates: [TextPosting: Int]
    ) throws -> [TextPosting: Int] {
        var found: [TextPosting: Int] = [:]
        for (posting, score) in candidates {
            guard let value = try unsafe entries.get(posting.key(of: term.token).bytes) else {
                continue
            }
            found[posting] = unsafe score + Self.exactWeight * Self.count(value)
        }
        return found
    }

    private static func count(_ value: UnsafeRawBufferPointer) -> Int {
        unsafe value.count == 4 ? Int(value.little(UInt32.self, at: 0)) : 0
    }
}
