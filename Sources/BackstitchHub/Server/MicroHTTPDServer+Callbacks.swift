import BackstitchHubCore
import CMicroHTTPD
import Glibc

// What libmicrohttpd calls, on its threads. The context is the server, which outlives the daemon.

let targetCallback:
    @convention(c) (
        UnsafeMutableRawPointer?, UnsafePointer<CChar>?, OpaquePointer?
    ) -> UnsafeMutableRawPointer? = { context, target, _ in
        guard let context, let target else { return nil }
        let server = Unmanaged<MicroHTTPDServer>.fromOpaque(context).takeUnretainedValue()
        let exchange = Exchange(target: String(cString: target), server: server)
        return Unmanaged.passRetained(exchange).toOpaque()
    }

let completionCallback:
    @convention(c) (
        UnsafeMutableRawPointer?, OpaquePointer?, UnsafeMutablePointer<UnsafeMutableRawPointer?>?,
        MHD_RequestTerminationCode
    ) -> Void = { context, connection, exchange, _ in
        if let context, let connection {
            let server = Unmanaged<MicroHTTPDServer>.fromOpaque(context).takeUnretainedValue()
            server.connections.noteCompletion(connection)
        }
        guard let pointer = exchange?.pointee else { return }
        exchange?.pointee = nil
        Unmanaged<Exchange>.fromOpaque(pointer).release()
    }

let connectionCallback:
    @convention(c) (
        UnsafeMutableRawPointer?, OpaquePointer?, UnsafeMutablePointer<UnsafeMutableRawPointer?>?,
        MHD_ConnectionNotificationCode
    ) -> Void = { context, connection, _, event in
        guard let context, let connection else { return }
        let server = Unmanaged<MicroHTTPDServer>.fromOpaque(context).takeUnretainedValue()
        if event == .CONNECTION_NOTIFY_STARTED {
            let address = backstitch_connection_address(connection)
            server.connections.noteStart(
                connection,
                ConnectionTable.Peer(
                    host: address.map { SocketAddress.host(of: $0) } ?? "",
                    name: HubRequest.addressName(of: NetworkAddress(address))))
        } else {
            server.connections.noteEnd(connection)
        }
    }

/// Whether an address may have one more connection.
let policyCallback:
    @convention(c) (
        UnsafeMutableRawPointer?, UnsafePointer<sockaddr>?, socklen_t
    ) -> MHD_Result = { context, address, _ in
        // A socket in the file system has no address, and one owner.
        let isLocal = address.map { Int32($0.pointee.sa_family) == AF_UNIX } ?? false
        let address = NetworkAddress(address)
        guard let context, address != nil || isLocal else { return .NO }
        let server = Unmanaged<MicroHTTPDServer>.fromOpaque(context).takeUnretainedValue()
        return server.mayConnect(address) ? .YES : .NO
    }

/// Leaves escapes as they are: the hub decodes the target itself.
let unescapeCallback:
    @convention(c) (
        UnsafeMutableRawPointer?, OpaquePointer?, UnsafeMutablePointer<CChar>?
    ) -> Int = { _, _, text in text.map { strlen($0) } ?? 0 }

let accessCallback: MHD_AccessHandlerCallback = {
    _, connection, _, method, version, data, byteCount, exchange in
    guard let connection, let method, let version, let byteCount,
        let pointer = exchange?.pointee
    else { return .NO }
    let current = Unmanaged<Exchange>.fromOpaque(pointer).takeUnretainedValue()
    var isConsumed = false
    let result = current.proceed(
        connection, method: method, version: version,
        part: UnsafeRawBufferPointer(start: data, count: byteCount.pointee),
        isConsumed: &isConsumed)
    if isConsumed { byteCount.pointee = 0 }
    return result
}
