import Foundation
import Glibc
import Threading

/// A port of this machine whose connections are taken as long as the listener is kept.
final class LocalListener: Sendable {
    let port: UInt16
    private let descriptor: Int32

    init() throws {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        descriptor = listener
        let isBound = Self.withAddress(0) { address, size in
            bind(listener, address, size) == 0 && listen(listener, 64) == 0
        }
        var own = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isKnown = withUnsafeMutablePointer(to: &own) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                getsockname(listener, pointer, &length) == 0
            }
        }
        port = UInt16(bigEndian: own.sin_port)
        guard isBound, isKnown else { throw POSIXError(.EADDRINUSE) }
    }

    deinit {
        shutdown(descriptor, Int32(SHUT_RDWR))
        close(descriptor)
    }

    /// Has each connection served on a thread of its own, and closed behind that.
    func start(_ serve: @escaping @Sendable (_ client: Int32) -> Void) {
        SystemThread.detach { [descriptor] in
            while true {
                let client = accept(descriptor, nil, nil)
                guard client >= 0 else { return }
                SystemThread.detach {
                    defer { close(client) }
                    serve(client)
                }
            }
        }
    }

    /// Runs a closure with the address of a port of this machine.
    static func withAddress(
        _ port: UInt16, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Bool
    ) -> Bool {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
    }
}
