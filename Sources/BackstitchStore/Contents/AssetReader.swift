import BackstitchLog
public import Foundation
import Glibc

/// Reads the content of a file in parts.
///
/// The content stays readable as long as this is held, also if it is evicted or collected meanwhile.
public final class AssetReader: Sendable {
    private let descriptor: Int32
    /// The size of the content in bytes.
    public let byteCount: Int64
    /// The file, for programs that read it by themselves while this is held. It must not be changed.
    public let url: URL

    init(path: String) throws {
        (descriptor, byteCount) = try ContentFolder.openRegular(path)
        url = URL(filePath: path)
    }

    deinit { close(descriptor) }

    /// Bytes of the content: as many as asked for, or fewer if it ends before.
    ///
    /// - Parameter offset: Where they begin, 0 or more.
    /// - Throws: `invalidValue` for a negative offset or count; `io`.
    public func read(at offset: Int64, count: Int) throws -> Data {
        guard offset >= 0, count >= 0 else {
            throw StoreError(.invalidValue, "Read from 0 on, and 0 bytes or more.")
        }
        let wanted = Int(min(Int64(count), max(0, byteCount - offset)))
        var data = Data(count: wanted)
        var done = 0
        while done < wanted {
            let got = unsafe data.withUnsafeMutableBytes { bytes in
                let part = unsafe UnsafeMutableRawBufferPointer(rebasing: bytes[done...])
                return unsafe pread(descriptor, part.baseAddress, part.count, Int(offset) + done)
            }
            if got < 0, errno == EINTR { continue }
            guard got > 0 else { throw ContentFolder.failure("read a file") }
            done += got
        }
        return data
    }

    /// The parts of the content one after another, each of this many bytes, the last of fewer.
    public func chunks(of count: Int) -> Chunks { Chunks(reader: self, count: max(1, count)) }

    /// The parts of a content.
    public struct Chunks: AsyncSequence, Sendable {
        fileprivate let reader: AssetReader
        fileprivate let count: Int

        /// Begins at the first part.
        public func makeAsyncIterator() -> Iterator { Iterator(chunks: self) }

        /// Gives the parts in turn.
        public struct Iterator: AsyncIteratorProtocol {
            fileprivate let chunks: Chunks
            private var offset: Int64 = 0

            fileprivate init(chunks: Chunks) { self.chunks = chunks }

            /// The next part; nil after the last.
            public mutating func next() async throws -> Data? {
                try Task.checkCancellation()
                guard offset < chunks.reader.byteCount else { return nil }
                let data = try chunks.reader.read(at: offset, count: chunks.count)
                offset += Int64(data.count)
                return data
            }
        }
    }
}
