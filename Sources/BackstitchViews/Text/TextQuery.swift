/// What a text search asks for: words, phrases, and combinations of them.
///
/// It can be what a user typed, and any text is a query:
///
/// | typed | finds records with |
/// |---|---|
/// | `ada lov` | `ada`, and a word that begins with `lov` |
/// | `"analytical engine"` | these words, one after the other in one text |
/// | `ada OR grace` | either; what stands side by side binds closer than `OR` |
/// | `ada -byron` | `ada`, but not `byron` |
/// | `program* ada` | a word that begins with `program`, and `ada` |
///
/// Words that are written as one, such as `e-mail` or those of Chinese, are a phrase. Case and diacritics
/// don't count. A query without words finds nothing, and so does one that only excludes.
public struct TextQuery: Sendable {
    /// The parts of a query.
    indirect enum Node: Hashable, Sendable {
        case term(TextTerm)
        case all([Node])
        case any([Node])
        case excluding(Node, Node)
    }

    /// Nil for a query without words.
    let root: Node?

    private init(root: Node?) { self.root = root }

    /// What the user typed.
    ///
    /// - Parameter prefixes: Which words match every word that begins with them; a word in quotation
    ///   marks never does.
    public init(_ text: String, prefixes: TextPrefixes = .last) {
        var parser = TextQueryParser(text, prefixes: prefixes)
        root = parser.parse()
    }

    /// Words that follow one another in one text.
    public static func phrase(_ text: String) -> TextQuery {
        TextQuery(root: TextTerm(TextTokens.all(in: text), isPrefix: false).map { .term($0) })
    }

    /// What is found by all of some queries; those without words don't count.
    public static func all(_ queries: TextQuery...) -> TextQuery {
        TextQuery(root: Node.all(of: queries.compactMap(\.root)))
    }

    /// What is found by any of some queries.
    public static func any(_ queries: TextQuery...) -> TextQuery {
        TextQuery(root: Node.any(of: queries.compactMap(\.root)))
    }

    /// What is found by this query, but not by another one.
    public func excluding(_ other: TextQuery) -> TextQuery {
        guard let root, let excluded = other.root else { return self }
        return TextQuery(root: .excluding(root, excluded))
    }
}

extension TextQuery: ExpressibleByStringInterpolation {
    /// What the user typed, the last word of which may be the beginning of one.
    public init(stringLiteral text: String) { self.init(text) }
}

/// Which words of a search match every word that begins with them.
public enum TextPrefixes: String, Hashable, Sendable, CaseIterable {
    /// None: each is a whole word.
    case none
    /// Only the last word, which the user may still be typing.
    case last
    /// All of them.
    case all
}

/// Words that follow one another; often it is one. If it `isPrefix`, the last one is what a word begins with.
struct TextTerm: Hashable, Sendable {
    let tokens: [String]
    let isPrefix: Bool

    /// Nil without words.
    init?(_ tokens: [String], isPrefix: Bool) {
        guard !tokens.isEmpty else { return nil }
        self.tokens = tokens
        self.isPrefix = isPrefix
    }
}

extension TextQuery.Node {
    static func all(of nodes: [Self]) -> Self? {
        nodes.count > 1 ? .all(nodes) : nodes.first
    }

    static func any(of nodes: [Self]) -> Self? {
        nodes.count > 1 ? .any(nodes) : nodes.first
    }

    /// The terms that a record may have because they are asked for.
    var wanted: [TextTerm] {
        switch self {
        case .term(let term): [term]
        case .all(let nodes), .any(let nodes): nodes.flatMap(\.wanted)
        case .excluding(let node, _): node.wanted
        }
    }
}

/// Reads what the user typed; it never fails.
struct TextQueryParser {
    /// What is between blanks, or between quotation marks.
    private struct Chunk {
        var text: Substring
        var isQuoted = false
        var isExcluded = false
    }

    /// Chunks beyond these are left out, so that a pasted book is no work of hours.
    static let chunkCountMax = 64

    private let chunks: [Chunk]
    private let prefixes: TextPrefixes

    init(_ text: String, prefixes: TextPrefixes) {
        chunks = Self.chunks(of: text)
        self.prefixes = prefixes
    }

    mutating func parse() -> TextQuery.Node? {
        var alternatives: [TextQuery.Node] = []
        var wanted: [TextQuery.Node] = []
        var excluded: [TextQuery.Node] = []
        func close() {
            if let node = TextQuery.Node.all(of: wanted) {
                let rest = TextQuery.Node.any(of: excluded)
                alternatives.append(rest.map { .excluding(node, $0) } ?? node)
            }
            (wanted, excluded) = ([], [])
        }
        for (number, chunk) in chunks.enumerated() {
            if chunk.text == "OR", !chunk.isQuoted, !chunk.isExcluded {
                close()
                continue
            }
            guard let term = term(chunk, isLast: number == chunks.count - 1) else { continue }
            if chunk.isExcluded {
                excluded.append(.term(term))
            } else if !wanted.contains(.term(term)) {
                wanted.append(.term(term))
            }
        }
        close()
        return TextQuery.Node.any(of: alternatives)
    }

    private func term(_ chunk: Chunk, isLast: Bool) -> TextTerm? {
        let tokens = TextTokens.all(in: String(chunk.text))
        let mayBePrefix =
            prefixes == .all || (prefixes == .last && isLast) || chunk.text.last == "*"
        return TextTerm(tokens, isPrefix: mayBePrefix && !chunk.isQuoted && !chunk.isExcluded)
    }

    private static func chunks(of text: String) -> [Chunk] {
        var chunks: [Chunk] = []
        var rest = Substring(text)
        while chunks.count < chunkCountMax {
            rest = rest.drop { $0.isWhitespace }
            guard !rest.isEmpty else { break }
            var chunk = Chunk(text: rest)
            if rest.first == "-" {
                chunk.isExcluded = true
                rest = rest.dropFirst()
            }
            if let mark = rest.first, mark.isQuotationMark {
                chunk.isQuoted = true
                rest = rest.dropFirst()
                chunk.text = rest.prefix { !$0.isQuotationMark }
                rest = rest[chunk.text.endIndex...].dropFirst()
            } else {
                chunk.text = rest.prefix { !$0.isWhitespace && !$0.isQuotationMark }
                rest = rest[chunk.text.endIndex...]
            }
            chunks.append(chunk)
        }
        return chunks
    }
}

extension Character {
    fileprivate var isQuotationMark: Bool {
        switch self {
        case "\"", "\u{201C}", "\u{201D}", "\u{201E}", "\u{00AB}", "\u{00BB}": true
        default: false
        }
    }
}
