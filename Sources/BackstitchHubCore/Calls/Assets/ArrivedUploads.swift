import CloudKitWire
import Threading

/// Uploads in parts of which all came, while they are kept. That takes long if they go to a bucket.
///
/// If a client sends the last part again meanwhile, both requests get the same answer: the file of an address
/// is kept once.
final class ArrivedUploads: Sendable {
    private struct Upload {
        let byteCount: Int
        let answer: Task<HubResponse, any Error>
    }

    private let uploads = Locked<[HubKey: Upload]>([:])

    /// The answer to an upload that is being kept; nil if none is of its address.
    ///
    /// - Throws: `conflict` if it has another size, and so is another one.
    func answer(to address: HubKey, byteCount: Int) async throws -> HubResponse? {
        guard let upload = uploads.withLock({ $0[address] }) else { return nil }
        return try await Self.answer(to: upload, byteCount)
    }

    /// Keeps an upload and answers it. A call that comes while one of its address is being kept waits for
    /// that answer.
    func answer(
        to address: HubKey, byteCount: Int,
        _ keep: @escaping @Sendable () async throws -> HubResponse
    ) async throws -> HubResponse {
        let upload = uploads.withLock { uploads in
            if let upload = uploads[address] { return upload }
            let answer = Task {
                defer { self.uploads.withLock { _ = $0.removeValue(forKey: address) } }
                return try await keep()
            }
            let upload = Upload(byteCount: byteCount, answer: answer)
            uploads[address] = upload
            return upload
        }
        return try await Self.answer(to: upload, byteCount)
    }

    private static func answer(
        to upload: Upload, _ byteCount: Int
    ) async throws -> HubResponse {
        guard upload.byteCount == byteCount else {
            throw WireError(.conflict, "Another file is being kept that came to this address.")
        }
        return try await upload.answer.value
    }
}
