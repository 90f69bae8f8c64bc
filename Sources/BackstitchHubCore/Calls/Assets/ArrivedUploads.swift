import Threading

/// Uploads in parts of which all came, while they are kept. That takes long if they go to a bucket.
///
/// Whoever sends the last part again meanwhile gets the answer that the first one gets: the file is kept once.
final class ArrivedUploads: Sendable {
    /// An upload by its address and how many bytes it has.
    struct Upload: Hashable, Sendable {
        let address: HubKey
        let byteCount: Int
    }

    private let answers = Locked<[Upload: Task<HubResponse, any Error>]>([:])

    /// The answer to an upload that is being kept; nil if it is not.
    func answer(to upload: Upload) async throws -> HubResponse? {
        try await answers.withLock { $0[upload] }?.value
    }

    /// Keeps an upload and answers it. A call that comes while the same upload is being kept waits for that
    /// answer.
    func answer(
        to upload: Upload, _ keep: @escaping @Sendable () async throws -> HubResponse
    ) async throws -> HubResponse {
        let task = answers.withLock { answers in
            if let answer = answers[upload] { return answer }
            let answer = Task {
                defer { self.answers.withLock { _ = $0.removeValue(forKey: upload) } }
                return try await keep()
            }
            answers[upload] = answer
            return answer
        }
        return try await task.value
    }
}
