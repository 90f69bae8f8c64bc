import BackstitchCore

/// The words of a term that an index keeps, with their places in the term; often it is one.
struct TextPhrase {
    struct Word {
        let token: String
        let offset: Int
        let isPrefix: Bool
    }

    let words: [Word]
}

extension TextTerm {
    /// The term without words that an index does not keep; nil if none is left.
    func without(_ stopWords: Set<String>) -> TextPhrase? {
        let words = tokens.enumerated().compactMap { offset, token -> TextPhrase.Word? in
            let isPrefix = isPrefix && offset == tokens.count - 1
            // What is typed may become another word.
            if !isPrefix, stopWords.contains(token) { return nil }
            return TextPhrase.Word(token: token, offset: offset, isPrefix: isPrefix)
        }
        return words.isEmpty ? nil : TextPhrase(words: words)
    }
}

extension TextQuery.Node {
    /// Whether it asks for words alone that an index does not keep.
    func isStopped(_ stopWords: Set<String>) -> Bool {
        guard case .term(let term) = self else { return false }
        return term.without(stopWords) == nil
    }
}

/// Finds the records in which the words of a phrase stand one after the other.
///
/// The places of the rarest words are not known before they are read, so all words are read whole, each
/// in the order of the records.
struct TextPhraseSearch {
    /// The places of a word by record: keys as in ``TextPostings``, and for each the entries of the index.
    private struct Places {
        var postings = TextPostings()
        /// The number of a text in the upper, the place in the lower 32 bits; ascending.
        var places: [UInt64] = []
        var ends: [Int] = []

        mutating func append(
            _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, offset: Int
        ) {
            guard key.count > 2, let length = unsafe value.first else { return }
            unsafe TextOccurrences.forEach(in: value) { text, place in
                // A place before the beginning can't be that of the phrase.
                guard place >= offset else { return }
                places.append(UInt64(text) << 32 | UInt64(place - offset))
            }
            ends.append(places.count)
            unsafe postings.append(key, 0, TextLength(rawValue: length))
        }

        func places(_ index: Int) -> ArraySlice<UInt64> {
            places[(index == 0 ? 0 : ends[index - 1])..<ends[index]]
        }
    }

    let phrase: TextPhrase
    let search: TextSearch

    /// The records with the phrase, and how often it occurs by the weights of the texts.
    func postings() throws -> TextPostings {
        var found: Places?
        for word in phrase.words {
            let next = try places(of: word)
            found = found.map { Self.together($0, next) } ?? next
            if found?.postings.count == 0 { break }
        }
        guard let found else { return TextPostings() }
        var counted = TextPostings()
        for index in 0..<found.postings.count {
            let weights = unsafe found.postings.keys[found.postings.range(index)].withUnsafeBytes {
                unsafe search.weights(ofRecord: $0)
            }
            let often = found.places(index).reduce(0.0) { sum, place in
                let text = Int(place >> 32)
                return sum + (text < weights.count ? weights[text] : 1)
            }
            counted.append(index, of: found.postings, often)
        }
        return counted
    }

    /// Where the phrase would begin for each place of one of its words.
    private func places(of word: TextPhrase.Word) throws -> Places {
        var lists: [Places] = []
        var list = Places()
        guard word.isPrefix else {
            try unsafe search.visit(word.token) { unsafe list.append($0, $1, offset: word.offset) }
            return list
        }
        try unsafe search.visit(startingWith: word.token) { isOther, _, key, value in
            if isOther {
                lists.append(list)
                list = Places()
            }
            unsafe list.append(key, value, offset: word.offset)
        }
        lists.append(list)
        while lists.count > 1 {
            lists = stride(from: 0, to: lists.count, by: 2).map { start in
                start + 1 < lists.count
                    ? Self.walk(lists[start], lists[start + 1], keepsOne: true) { left, right in
                        (Array(left) + Array(right)).sorted()
                    } : lists[start]
            }
        }
        return lists[0]
    }

    /// The records of both lists with a place in common, with these places.
    private static func together(_ left: Places, _ right: Places) -> Places {
        walk(left, right, keepsOne: false) { left, right in
            var common: [UInt64] = []
            var (leftIndex, rightIndex) = (left.startIndex, right.startIndex)
            while leftIndex < left.endIndex, rightIndex < right.endIndex {
                if left[leftIndex] == right[rightIndex] { common.append(left[leftIndex]) }
                if left[leftIndex] <= right[rightIndex] { leftIndex += 1 } else { rightIndex += 1 }
            }
            return common
        }
    }

    /// Walks two lists in their order.
    ///
    /// - Parameters:
    ///   - keepsOne: Whether records in one list alone stay.
    ///   - combine: Makes the places of a record that is in both; it is left out if there are none.
    private static func walk(
        _ left: Places, _ right: Places, keepsOne: Bool,
        _ combine: (ArraySlice<UInt64>, ArraySlice<UInt64>) -> [UInt64]
    ) -> Places {
        var result = Places()
        func keep(_ index: Int, of list: Places, _ places: some Collection<UInt64>) {
            result.places += places
            result.ends.append(result.places.count)
            result.postings.append(index, of: list.postings, 0)
        }
        var (leftIndex, rightIndex) = (0, 0)
        while leftIndex < left.postings.count || rightIndex < right.postings.count {
            let order =
                leftIndex == left.postings.count
                ? 1
                : rightIndex == right.postings.count
                    ? -1
                    : TextPostings.order(left.postings, leftIndex, right.postings, rightIndex)
            if order == 0 {
                let places = combine(left.places(leftIndex), right.places(rightIndex))
                if !places.isEmpty { keep(leftIndex, of: left, places) }
                leftIndex += 1
                rightIndex += 1
            } else if order < 0 {
                if keepsOne { keep(leftIndex, of: left, left.places(leftIndex)) }
                leftIndex += 1
            } else {
                if keepsOne { keep(rightIndex, of: right, right.places(rightIndex)) }
                rightIndex += 1
            }
        }
        return result
    }
}
