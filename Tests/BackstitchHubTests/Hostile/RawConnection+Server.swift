import BackstitchHub
import Dispatch
import RawConnection

extension RawConnection {
    /// Sends bytes to a server and answers all that comes until the server closes the connection;
    /// nothing where the client goes away at once.
    ///
    /// It waits on a thread of its own, because the hub answers on the threads of tasks.
    static func exchange(
        _ server: HubServer, _ bytes: [UInt8], goesAway: Bool = false
    ) async throws -> String {
        try await withCheckedThrowingContinuation { continuation in
            DispatchQueue.global().async {
                continuation.resume(
                    with: Result {
                        let connection = try RawConnection(url: server.address)
                        connection.send(bytes)
                        return goesAway ? "" : String(decoding: connection.rest(), as: UTF8.self)
                    })
            }
        }
    }
}
