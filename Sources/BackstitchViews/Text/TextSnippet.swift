/// A part of a record's text that shows why a search found it.
public struct TextSnippet: Hashable, Sendable {
    /// The part of the text, from a word to a word.
    public let text: String
    /// Where the words that were asked for stand in ``text``, in order.
    public let matches: [Range<String.Index>]
    /// Whether the text has words before the part.
    public let isCutBefore: Bool
    /// Whether the text has words after the part.
    public let isCutAfter: Bool

    /// The part with most of the words that were asked for, the first of equal ones.
    init(of texts: [String?], _ phrases: [TextPhrase], wordCount: Int) {
        var best: (window: Window, value: Int)?
        for case .some(let text) in texts {
            let window = Window(text, phrases, wordCount: wordCount)
            if best.map({ window.value > $0.value }) ?? true { best = (window, window.value) }
        }
        guard let window = best?.window, !window.words.isEmpty else {
            (text, matches, isCutBefore, isCutAfter) = ("", [], false, false)
            return
        }
        let words = window.words[window.range]
        let part = window.text[
            words[words.startIndex].range.lowerBound..<words[words.endIndex - 1].range.upperBound]
        let text = String(part)
        let start = part.startIndex
        func place(_ index: String.Index) -> String.Index {
            text.utf8.index(text.startIndex, offsetBy: part.utf8.distance(from: start, to: index))
        }
        self.text = text
        matches = words.filter { $0.phrase != nil }.map {
            place($0.range.lowerBound)..<place($0.range.upperBound)
        }
        isCutBefore = window.range.lowerBound > 0
        isCutAfter = window.range.upperBound < window.words.count
    }

    /// A text in words, and the part of it that is shown.
    private struct Window {
        struct Word {
            let token: String
            let range: Range<String.Index>
            /// The phrase that the word belongs to.
            var phrase: Int?
        }

        let text: String
        var words: [Word] = []
        var range = 0..<0
        /// Each phrase in the part counts much, each further word of one a little.
        var value = 0

        init(_ text: String, _ phrases: [TextPhrase], wordCount: Int) {
            self.text = text
            TextTokens.forEach(in: text) { words.append(Word(token: $0, range: $1)) }
            for (number, phrase) in phrases.enumerated() { mark(phrase, number) }
            findPart(wordCount, phraseCount: phrases.count)
        }

        private mutating func mark(_ phrase: TextPhrase, _ number: Int) {
            for start in words.indices {
                let isThere = phrase.words.allSatisfy { word in
                    guard start + word.offset < words.count else { return false }
                    let token = words[start + word.offset].token
                    return word.isPrefix
                        ? token.utf8.starts(with: word.token.utf8) : token == word.token
                }
                guard isThere else { continue }
                for word in phrase.words { words[start + word.offset].phrase = number }
            }
        }

        private mutating func findPart(_ wordCount: Int, phraseCount: Int) {
            var counts = Array(repeating: 0, count: phraseCount)
            var (kinds, marked, best) = (0, 0, -1)
            for end in words.indices {
                if let phrase = words[end].phrase {
                    counts[phrase] += 1
                    marked += 1
                    if counts[phrase] == 1 { kinds += 1 }
                }
                let start = end - wordCount
                if start >= 0, let phrase = words[start].phrase {
                    counts[phrase] -= 1
                    marked -= 1
                    if counts[phrase] == 0 { kinds -= 1 }
                }
                if kinds * 1_000 + min(marked, 999) > best {
                    best = kinds * 1_000 + min(marked, 999)
                    range = max(0, start + 1)..<(end + 1)
                }
            }
            value = max(0, best)
            widen(to: wordCount)
        }

        /// Lets the part begin some words before its first match, and fills it up after.
        private mutating func widen(to wordCount: Int) {
            guard let first = words[range].firstIndex(where: { $0.phrase != nil }),
                let last = words[range].lastIndex(where: { $0.phrase != nil })
            else {
                range = 0..<min(wordCount, words.count)
                return
            }
            let spare = wordCount - (last - first + 1)
            let start = max(0, min(first - spare / 2, words.count - wordCount))
            range = start..<min(words.count, start + wordCount)
        }
    }
}
