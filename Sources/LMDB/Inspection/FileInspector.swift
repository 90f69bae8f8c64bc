/// Looks at every page of a data file with `pread`, notes what is wrong, and goes on behind it.
///
/// It shows the entries that it comes across. Its memory is a bit a page, a page for each level
/// of a tree, and the largest value.
struct FileInspector: ~Copyable {
    typealias Visitor = (FileEntry) throws -> Void

    let file: DataFile
    /// The names of the databases that there should be.
    private var options: EnvironmentOptions
    var names: [String] { options.databases }
    var result = FileInspection()
    var pageBytes = 4096
    var lastPage = 0
    /// The whole pages in the file.
    var pageCount = 0
    /// The pages behind the end of the file that are free, or should be.
    private var freeBehindEnd = 0
    /// A bit for every page that is in use or free.
    private var claimed: [UInt64] = []

    init(file: DataFile, names: [String], family: DatabaseFamily?) {
        self.file = file
        options = EnvironmentOptions(databases: names)
        options.family = family
    }

    /// The number of a database that there should be; `nil` for another one.
    func number(ofDatabase name: String) -> Int? {
        options.number(ofDatabase: name).map(Int.init)
    }

    /// The name of a member of the family.
    func name(ofMember member: Int) -> String? {
        options.name(ofDatabase: UInt16(Database.memberNumberBase + member))
    }

    /// Looks at all pages that are in use or listed as free.
    ///
    /// - Parameter base: The commit to look at; nil for the last one of the file.
    mutating func inspect(_ visit: Visitor) throws {
        let bytes = try file.byteCount()
        let newest = try newestMeta(fileBytes: bytes)
        pageCount = bytes / pageBytes
        claimed = [UInt64](repeating: 0, count: pageCount / 64 + 1)
        guard let meta = newest else { return }
        result.transaction = meta.transaction
        lastPage = meta.lastPage
        try inspectFreePages(of: meta)
        try inspectDatabases(of: meta, visit)
        if lastPage >= pageCount, freeBehindEnd < lastPage + 1 - pageCount {
            result.note(
                .meta,
                "The last page is said to be \(lastPage), and the file ends after \(pageCount).")
        }
    }

    /// Notes that a page is used, once.
    ///
    /// - Returns: Whether it can be read.
    mutating func claim(_ number: Int, _ part: FileInspection.Part, reads: Bool = true) -> Bool {
        guard number > 1, number <= lastPage else {
            result.note(part, "It refers to page \(number), which doesn't exist.")
            return false
        }
        guard number < pageCount else {
            // The end of the file may lack pages that are free.
            if reads { result.note(part, "Page \(number) lies behind the end of the file.") }
            freeBehindEnd += 1
            return false
        }
        let bit: UInt64 = 1 << UInt64(number % 64)
        guard claimed[number / 64] & bit == 0 else {
            result.note(part, "Page \(number) is used twice.")
            return false
        }
        claimed[number / 64] |= bit
        result.pages += 1
        return true
    }

    func page(_ number: Int) throws(LMDBError) -> [UInt8] {
        try file.read(at: number * pageBytes, count: pageBytes, .truncated)
    }
}
