/// A file, or a part of one, that is fetched from elsewhere piece by piece.
public struct RemoteFile: Hashable, Sendable {
    /// The most bytes of a piece.
    static let pieceBytes = 1 << 20

    /// The bytes of all pieces together.
    public var byteCount: Int { range.count }
    /// The bytes that are in memory while it is sent: a piece and the next one.
    var bytesInMemory: Int { min(byteCount, 2 * Self.pieceBytes) }
    /// The first piece, which is here already.
    package private(set) var start: [UInt8] = []

    private let file: HubFile
    private let range: Range<Int>
    private let files: any HubFiles
    private let pool: WorkPool
    private let work: RequestWork

    init(
        _ file: HubFile, _ range: Range<Int>, files: any HubFiles, pool: WorkPool,
        _ work: RequestWork
    ) {
        (self.file, self.range, self.files) = (file, range, files)
        (self.pool, self.work) = (pool, work)
    }

    func beginning(with start: [UInt8]) -> RemoteFile {
        var other = self
        other.start = start
        return other
    }

    /// Fetches a piece, and waits for it.
    ///
    /// - Parameter offset: Where it begins, from the start of the part.
    /// - Throws: A failure if it is not all there, or the place of files is away.
    package func readPiece(at offset: Int) throws -> [UInt8] {
        let begin = range.lowerBound + offset
        let end = min(begin + Self.pieceBytes, range.upperBound)
        work.countFile(bytes: max(0, end - begin))
        guard begin < end else { return [] }
        let piece = try files.read(file, begin..<end)
        guard piece.count == end - begin else {
            throw HubError(.damaged, "The file '\(file.text)' is shorter than it was.")
        }
        return piece
    }

    /// Has a piece fetched.
    ///
    /// - Parameter answer: Gets it on a thread that fetches; nil if it is not to be had.
    package func submitPiece(at offset: Int, _ answer: @escaping @Sendable ([UInt8]?) -> Void) {
        pool.submit(.page, work) {
            let piece = try? readPiece(at: offset)
            return { answer(piece) }
        } refuse: {
            answer(nil)
        }
    }

    /// Whether both are the same bytes of the same file.
    public static func == (left: RemoteFile, right: RemoteFile) -> Bool {
        left.file == right.file && left.range == right.range
    }

    /// Hashes which bytes of which file it is.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(file)
        hasher.combine(range)
    }
}
