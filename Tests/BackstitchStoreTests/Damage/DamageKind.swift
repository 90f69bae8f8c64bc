import Foundation

/// The files of a store that was not closed.
struct StoreFiles: Sendable {
    var data: Data
    var journal: Data?
    /// The pages that are in use; damage to others changes nothing.
    var used: [Int] = []

    static let pageBytes = 4096

    /// Writes them into a new folder.
    func write(to path: String) throws {
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        try data.write(to: URL(fileURLWithPath: path + "/data.mdb"))
        try journal?.write(to: URL(fileURLWithPath: path + "/journal"))
    }

    init(data: Data, journal: Data?) {
        self.data = data
        self.journal = journal
    }

    init(at path: String) throws {
        data = try Data(contentsOf: URL(fileURLWithPath: path + "/data.mdb"))
        journal = try? Data(contentsOf: URL(fileURLWithPath: path + "/journal"))
    }
}

/// What can happen to the files of a store.
enum DamageKind: String, CaseIterable, Sendable {
    case flippedBits, zeroedPages, truncated, swappedPages, stalePages, garbageAtTheEnd
    case oneMetaPage, bothMetaPages, damagedJournal, lostJournal, halfZero, overwrittenPages

    /// Damages files at random.
    ///
    /// - Parameter older: The same store some time before.
    func apply(
        to files: inout StoreFiles, older: StoreFiles, _ random: inout some RandomNumberGenerator
    ) {
        let page = StoreFiles.pageBytes
        let pages = files.data.count / page
        func anyPage() -> Int {
            if Int.random(in: 0..<4, using: &random) > 0,
                let used = files.used.randomElement(using: &random)
            {
                return used
            }
            return Int.random(in: 2..<pages, using: &random)
        }
        switch self {
        case .flippedBits:
            for _ in 0..<Int.random(in: 1...8, using: &random) {
                let start = anyPage() * page
                Self.flip(&files.data, in: start..<start + page, &random)
            }
        case .zeroedPages:
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                files.data.put(Data(count: page), at: anyPage() * page)
            }
        case .truncated:
            files.data = files.data.prefix(Int.random(in: 0..<files.data.count, using: &random))
        case .swappedPages:
            let (first, second) = (anyPage() * page, anyPage() * page)
            let other = files.data.part(first, page)
            files.data.put(files.data.part(second, page), at: first)
            files.data.put(other, at: second)
        case .stalePages:
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                let place = anyPage() * page
                let isRepeated = Bool.random(using: &random)
                let old = isRepeated ? files.data : older.data
                let from = isRepeated ? anyPage() * page : place
                guard from + page <= old.count else { continue }
                files.data.put(old.part(from, page), at: place)
            }
        case .garbageAtTheEnd:
            let count = Int.random(in: 1...3 * page, using: &random)
            files.data += Data((0..<count).map { _ in UInt8.random(in: 0...255, using: &random) })
        case .oneMetaPage:
            Self.damageMeta(&files.data, Bool.random(using: &random) ? 1 : 0, &random)
        case .bothMetaPages:
            for number in 0...1 { Self.damageMeta(&files.data, number, &random) }
        case .damagedJournal:
            guard var journal = files.journal else { return }
            for _ in 0..<Int.random(in: 1...6, using: &random) {
                // The header, records that wait, or what is empty or old.
                let parts = [0..<32, files.records, files.records.upperBound..<journal.count]
                let part = parts.randomElement(using: &random) ?? 0..<32
                Self.flip(&journal, in: part, &random)
            }
            files.journal = journal
        case .lostJournal:
            files.journal = Bool.random(using: &random) ? nil : files.journal?.prefix(100)
        case .halfZero:
            let start = Int.random(in: 0...1, using: &random) * files.data.count / 2
            files.data.put(Data(count: files.data.count / 2), at: start)
        case .overwrittenPages:
            let text = Data(repeating: UInt8.random(in: 0...255, using: &random), count: page)
            files.data.put(text, at: anyPage() * page)
        }
    }

    private static func flip(
        _ data: inout Data, in range: Range<Int>, _ random: inout some RandomNumberGenerator
    ) {
        let place = Int.random(in: range, using: &random)
        data[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
    }

    private static func damageMeta(
        _ data: inout Data, _ number: Int, _ random: inout some RandomNumberGenerator
    ) {
        let start = number * StoreFiles.pageBytes
        switch Int.random(in: 0...2, using: &random) {
        case 0: data.put(Data(count: StoreFiles.pageBytes), at: start)
        case 1: flip(&data, in: start..<start + 16 + 136, &random)
        default:
            for _ in 0..<4 { flip(&data, in: start..<start + 16 + 136, &random) }
        }
    }
}

extension Data {
    func part(_ start: Int, _ count: Int) -> Data { Data(self[start..<start + count]) }

    mutating func put(_ bytes: Data, at start: Int) {
        replaceSubrange(
            start..<Swift.min(start + bytes.count, count), with: bytes.prefix(count - start))
    }
}
