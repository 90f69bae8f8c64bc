import BackstitchCore

/// Records in the order of the index, each with a number: how often something occurs in it, or what
/// it counts in the ranking.
///
/// The keys lie one after the other in one buffer: a list of a frequent word has 100,000 of them.
struct TextPostings {
    /// What a key has in the index after the word and the zero.
    private(set) var keys: [UInt8] = []
    private(set) var ends: [Int] = []
    var numbers: [Double] = []
    private(set) var lengths: [TextLength] = []

    var count: Int { ends.count }

    mutating func append(
        _ key: UnsafeRawBufferPointer, _ number: Double, _ length: TextLength
    ) {
        unsafe keys.append(contentsOf: key)
        ends.append(keys.count)
        numbers.append(number)
        lengths.append(length)
    }

    mutating func append(_ index: Int, of other: TextPostings, _ number: Double) {
        keys.append(contentsOf: other.keys[other.range(index)])
        ends.append(keys.count)
        numbers.append(number)
        lengths.append(other.lengths[index])
    }

    func range(_ index: Int) -> Range<Int> { (index == 0 ? 0 : ends[index - 1])..<ends[index] }

    func posting(_ index: Int) -> TextPosting { TextPosting(keys[range(index)]) }

    /// The number of the entity of a record.
    func entity(_ index: Int) -> EntityNumber {
        let start = range(index).lowerBound
        return EntityNumber(UInt16(keys[start]) << 8 | UInt16(keys[start + 1]))
    }

    /// Which of two records of two lists comes first: below 0 the left one, 0 if they are the same.
    @inline(__always)
    static func order(
        _ left: TextPostings, _ leftIndex: Int, _ right: TextPostings, _ rightIndex: Int
    ) -> Int {
        unsafe left.keys.withUnsafeBytes { leftKeys in
            unsafe right.keys.withUnsafeBytes { rightKeys in
                unsafe leftKeys.part(left.range(leftIndex)).order(
                    rightKeys.part(right.range(rightIndex)))
            }
        }
    }

    /// What records of two lists become when both are walked in their order.
    enum Merging {
        /// Those in both, with the sum of their numbers.
        case both
        /// Those in any, with the sum of their numbers.
        case any
        /// Those in the left list alone.
        case leftOnly
    }

    static func merge(_ left: TextPostings, _ right: TextPostings, _ merging: Merging)
        -> TextPostings
    {
        var merged = TextPostings()
        var (leftIndex, rightIndex) = (0, 0)
        while leftIndex < left.count, rightIndex < right.count {
            let order = order(left, leftIndex, right, rightIndex)
            if order == 0 {
                if merging != .leftOnly {
                    merged.append(
                        leftIndex, of: left, left.numbers[leftIndex] + right.numbers[rightIndex])
                }
                leftIndex += 1
                rightIndex += 1
            } else if order < 0 {
                if merging != .both { merged.append(leftIndex, of: left, left.numbers[leftIndex]) }
                leftIndex += 1
            } else {
                if merging == .any {
                    merged.append(rightIndex, of: right, right.numbers[rightIndex])
                }
                rightIndex += 1
            }
        }
        if merging != .both {
            for index in leftIndex..<left.count {
                merged.append(index, of: left, left.numbers[index])
            }
        }
        if merging == .any {
            for index in rightIndex..<right.count {
                merged.append(index, of: right, right.numbers[index])
            }
        }
        return merged
    }

    /// One list of sorted lists, pair by pair.
    static func union(_ lists: [TextPostings]) -> TextPostings {
        var lists = lists
        while lists.count > 1 {
            var pairs: [TextPostings] = []
            for start in stride(from: 0, to: lists.count, by: 2) {
                pairs.append(
                    start + 1 < lists.count
                        ? merge(lists[start], lists[start + 1], .any) : lists[start])
            }
            lists = pairs
        }
        return lists.first ?? TextPostings()
    }

    /// The indexes of the records with the largest numbers, equal ones in the order of the index.
    func best(_ limit: Int) -> [Int] {
        func comesFirst(_ left: Int, _ right: Int) -> Bool {
            numbers[left] != numbers[right] ? numbers[left] > numbers[right] : left < right
        }
        guard limit > 0 else { return [] }
        guard limit < count / 8 else {
            return Array((0..<count).sorted(by: comesFirst).prefix(limit))
        }
        // Twice as many as are wanted are kept and cut from time to time.
        var kept: [Int] = []
        var worst = -Double.infinity
        for index in 0..<count where numbers[index] > worst {
            kept.append(index)
            if kept.count >= 2 * limit {
                kept.sort(by: comesFirst)
                kept.removeSubrange(limit...)
                worst = numbers[kept[limit - 1]]
            }
        }
        return Array(kept.sorted(by: comesFirst).prefix(limit))
    }
}
