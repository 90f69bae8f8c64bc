/// What a hub has beside the calls of the protocol, by the first part of the path.
enum HubPage: String, Sendable {
    case healthz
    case ready
    case metrics
    case courier
    case upload
    case asset

    /// The page of a target; nil where it is none of these.
    init?(target: String) {
        guard target.utf8.first == UInt8(ascii: "/") else { return nil }
        let name = target.utf8.dropFirst().prefix {
            $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?")
        }
        self.init(rawValue: String(Substring(name)))
    }

    /// The methods that it is called by.
    var methods: [String] {
        switch self {
        case .healthz: ["GET", "HEAD", "POST"]
        case .ready: ["GET", "HEAD"]
        case .metrics, .courier, .asset: ["GET"]
        case .upload: ["POST", "PUT"]
        }
    }

    /// Whether it is for those who watch the hub, so that pages of others must not read it.
    var isForOperators: Bool {
        switch self {
        case .healthz, .ready, .metrics: true
        case .courier, .upload, .asset: false
        }
    }
}
