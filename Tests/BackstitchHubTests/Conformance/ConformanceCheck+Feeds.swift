import BackstitchCore
import CloudKitWire
import Testing

@testable import BackstitchHubCore

extension ConformanceCheck {
    static let feeds: [ConformanceCheck] = [
        ConformanceCheck("2.1 getCurrentSyncToken has a query tell where the feed stands") {
            world in
            _ = await world.save("a")
            func query(_ zone: String, _ query: String) async -> JSONValue {
                let answer = await world.post(
                    "private/records/query",
                    #"{"query":{"recordType":"T"},"zoneID":{"zoneName":"\#(zone)"}}"#,
                    query: query)
                return answer.json
            }
            let token = await query("Z", "&getCurrentSyncToken=true")["syncToken"].text
            #expect(!token.isEmpty)
            #expect(await query("Z", "")["syncToken"] == .null)
            #expect(await query("_defaultZone", "&getCurrentSyncToken=true")["syncToken"] == .null)
            _ = await world.save("b")
            let page = await world.post(
                "private/changes/zone",
                #"{"zones":[{"zoneID":{"zoneName":"Z"},"syncToken":"\#(token)"}]}"#)
            let records = page.json["zones"].elements[0]["records"].elements
            #expect(records.map { $0["recordName"].text } == ["b"])
        },
        ConformanceCheck("2.1 pages of a query follow their markers") { world in
            for index in 0..<5 { _ = await world.save("r\(index)") }
            var names: [String] = []
            var marker = "null"
            repeat {
                let page = await world.post(
                    "private/records/query",
                    """
                    {"query":{"recordType":"T"},"zoneID":{"zoneName":"Z"},"resultsLimit":2e0,
                    "continuationMarker":\(marker)}
                    """)
                #expect(page.records.count <= 2)
                names += page.records.map { $0["recordName"].text }
                let next = page.json["continuationMarker"].text
                marker = next.isEmpty ? "" : "\"\(next)\""
            } while !marker.isEmpty
            #expect(names == ["r0", "r1", "r2", "r3", "r4"])
        },
        ConformanceCheck("2.4 records/changes tells whether it is in reverse") { world in
            for name in ["a", "b"] { _ = await world.save(name) }
            for isReverse in [true, false] {
                let page = await world.post(
                    "private/records/changes",
                    #"{"zoneID":{"zoneName":"Z"},"reverse":\#(isReverse)}"#)
                #expect(page.json["reverse"] == .bool(isReverse))
                let names = page.records.map { $0["recordName"].text }
                #expect(names == (isReverse ? ["b", "a"] : ["a", "b"]))
            }
        },
        ConformanceCheck("2.6 errors of one zone stand in its place") { world in
            let page = await world.post(
                "private/changes/zone",
                """
                {"zones":[{"zoneID":{"zoneName":"nowhere"}},
                {"zoneID":{"zoneName":"Z"},"syncToken":"bad"},{"zoneID":{"zoneName":"Z"}}]}
                """)
            let codes = page.json["zones"].elements.map { $0["serverErrorCode"].text }
            #expect(page.status == 200 && codes == ["ZONE_NOT_FOUND", "BAD_REQUEST", ""])
        },
        ConformanceCheck("2.6 a deleted record is a tombstone in the feed, once") { world in
            _ = await world.save("a")
            _ = await world.save("a", #"{"f":{"value":1}}"#)
            _ = await world.delete("a")
            let page = await world.post(
                "private/changes/zone", #"{"zones":[{"zoneID":{"zoneName":"Z"}}]}"#)
            let records = page.json["zones"].elements[0]["records"].elements
            #expect(records.count == 1 && records[0]["deleted"] == .bool(true))
            #expect(records[0]["fields"] == .null)
        },
        ConformanceCheck("2.5, 2.7 the list of changed zones, with both names of its token") {
            world in
            for (call, key) in [
                ("changes/database", "syncToken"), ("zones/changes", "metaSyncToken"),
            ] {
                let all = await world.post("private/\(call)", "{}")
                #expect(all.json["zones"].elements.count == 3)
                let token = all.json[key].text
                let none = await world.post("private/\(call)", #"{"\#(key)":"\#(token)"}"#)
                #expect(none.json["zones"].elements.isEmpty && !token.isEmpty)
            }
        },
        ConformanceCheck("2.7 a zone that is made and deleted") { world in
            func modify(_ kind: String) async -> ConformanceWorld.Answer {
                await world.post(
                    "private/zones/modify",
                    """
                    {"operations":[{"operationType":"\(kind)",
                    "zone":{"zoneID":{"zoneName":"new"}}}]}
                    """)
            }
            #expect(await modify("delete").code == "ZONE_NOT_FOUND")
            #expect(await modify("create").code == "")
            #expect(await modify("create").code == "")
            #expect(await modify("delete").code == "")
            #expect(await world.save("a", zone: "new").code == "ZONE_NOT_FOUND")
        },
    ]

    static let notifications: [ConformanceCheck] = [
        ConformanceCheck("3.8 firesOnce fires once, and the subscription ends") { world in
            let subscription = """
                {"subscriptionID":"s","subscriptionType":"query","query":{"recordType":"T"},
                "zoneID":{"zoneName":"Z"},"firesOnce":true}
                """
            #expect(await world.subscribe(subscription).code == "")
            let courier = await world.courier()
            for name in ["a", "b"] { _ = await world.save(name) }
            #expect(await world.notifications(courier).count == 1)
            _ = await world.save("c")
            #expect(await world.notifications(courier).isEmpty)
            let list = await world.post("private/subscriptions/list", "{}")
            #expect(list.json["subscriptions"].elements.isEmpty)
        },
        ConformanceCheck("3.8 firesOnce fires once for a request of many records") { world in
            _ = await world.subscribe(
                """
                {"subscriptionID":"s","subscriptionType":"query","query":{"recordType":"T"},
                "firesOnce":true}
                """)
            let courier = await world.courier()
            _ = await world.modify(
                ["a", "b"].map {
                    #"{"operationType":"create","record":{"recordName":"\#($0)","recordType":"T"}}"#
                }.joined(separator: ","))
            #expect(await world.notifications(courier).count == 1)
        },
        ConformanceCheck("3.8 zoneWide says whether other zones than the default one count") {
            world in
            for (isWide, zones) in [("false", ["_defaultZone"]), ("true", ["Z", "_defaultZone"])] {
                _ = await world.subscribe(
                    """
                    {"subscriptionID":"w","subscriptionType":"query","query":{"recordType":"T"},
                    "zoneWide":\(isWide)}
                    """)
                let courier = await world.courier()
                for zone in ["Z", "_defaultZone"] { _ = await world.save("\(isWide)", zone: zone) }
                let told = await world.notifications(courier).map { $0["ck"]["qry"]["zid"].text }
                #expect(told == zones)
            }
        },
        ConformanceCheck("3.8 what can't be meant is refused") { world in
            for wrong in [
                #"{"subscriptionType":"zone"}"#,
                #"{"subscriptionType":"zone","zoneID":{"zoneName":"nowhere"}}"#,
                #"{"subscriptionType":"query"}"#,
                #"{"subscriptionType":"query","query":{"recordType":"T"},"firesOn":["explode"]}"#,
                """
                {"subscriptionType":"query","query":{"recordType":"T"},
                "notificationInfo":{"alertBody":5}}
                """,
            ] {
                let answer = await world.subscribe(wrong)
                let code = wrong.contains("nowhere") ? "ZONE_NOT_FOUND" : "BAD_REQUEST"
                #expect(answer.status == 200 && answer.code == code, "\(wrong)")
            }
        },
        ConformanceCheck("3.8 a database subscription tells of all zones") { world in
            #expect(
                await world.subscribe(
                    #"{"subscriptionID":"d","subscriptionType":"database"}"#
                ).code == "")
            let courier = await world.courier()
            _ = await world.save("a", zone: "Y")
            let told = await world.notifications(courier).map { $0["ck"]["met"] }
            #expect(told.map { $0["zid"].text } == ["Y"])
            _ = await world.post(
                "private/zones/modify",
                #"{"operations":[{"operationType":"create","zone":{"zoneID":{"zoneName":"X"}}}]}"#)
            #expect(await world.notifications(courier).map { $0["ck"]["met"]["zid"].text } == ["X"])
            let publicly = await world.subscribe(
                #"{"subscriptionType":"database"}"#, in: "public")
            #expect(publicly.code == "BAD_REQUEST")
        },
        ConformanceCheck("3.8, 6 notifications say what notificationInfo says") { world in
            _ = await world.subscribe(
                """
                {"subscriptionID":"q","subscriptionType":"query","query":{"recordType":"T"},
                "notificationInfo":{"alertBody":"New","alertLocalizationKey":"K",
                "alertLocalizationArgs":["title","n"],"alertActionLocalizationKey":"A",
                "alertLaunchImage":"I","soundName":"ping","category":"C","shouldBadge":true,
                "additionalFields":["n","title","long","none"]}}
                """)
            let courier = await world.courier()
            let long = String(repeating: "x", count: 3_000)
            _ = await world.save(
                "a",
                #"{"title":{"value":"Hi"},"n":{"value":2},"long":{"value":"\#(long)"}}"#)
            let payload = try #require(await world.notifications(courier).first)
            let alert = payload["aps"]["alert"]
            #expect(alert["body"].text == "New" && alert["loc-key"].text == "K")
            #expect(alert["loc-args"].elements.map(\.text) == ["Hi", "2"])
            #expect(alert["action-loc-key"].text == "A" && alert["launch-image"].text == "I")
            #expect(payload["aps"]["sound"].text == "ping" && payload["aps"]["badge"].count == 1)
            #expect(payload["aps"]["category"].text == "C")
            #expect(payload["aps"]["content-available"] == .null)
            let fields = payload["ck"]["qry"]["af"]
            #expect(fields["n"].count == 2 && fields["title"].text == "Hi")
            #expect(fields.members.count == 2 && payload["ck"]["p"].count == 1)
        },
        ConformanceCheck("6 a notification that nobody sees wakes the application") { world in
            _ = await world.subscribe(
                #"{"subscriptionID":"z","subscriptionType":"zone","zoneID":{"zoneName":"Z"}}"#)
            let courier = await world.courier()
            _ = await world.save("a")
            let payload = try #require(await world.notifications(courier).first)
            #expect(payload["aps"]["content-available"].count == 1)
            #expect(payload["ck"]["fet"]["zid"].text == "Z")
        },
        ConformanceCheck("6 sealed fields don't go along") { world in
            _ = await world.subscribe(
                """
                {"subscriptionID":"q","subscriptionType":"query","query":{"recordType":"T"},
                "notificationInfo":{"additionalFields":["s"],"alertLocalizationKey":"K",
                "alertLocalizationArgs":["s"]}}
                """)
            let courier = await world.courier()
            _ = await world.save("a", #"{"s":{"value":"deep","type":"STRING","isEncrypted":true}}"#)
            let payload = try #require(await world.notifications(courier).first)
            #expect(payload["ck"]["qry"]["af"] == .null)
            #expect(payload["aps"]["alert"]["loc-args"].elements.map(\.text) == [""])
        },
        ConformanceCheck("2.12 a device that somebody else signed in at tells that user") { world in
            let token = await world.post("tokens/create", #"{"apnsEnvironment":"development"}"#)
            let courier = ConformanceWorld.path(token.json["webcourierURL"].text)
            _ = await world.subscribe(
                #"{"subscriptionID":"z","subscriptionType":"zone","zoneID":{"zoneName":"Z"}}"#)
            _ = await world.save("a")
            let name = token.json["apnsToken"].text
            let register = #"{"apnsEnvironment":"development","apnsToken":"\#(name)"}"#
            #expect(await world.post("tokens/register", register, as: .bob).status == 200)
            _ = await world.save("b")
            #expect(await world.notifications(courier).isEmpty)
            #expect(await world.post("tokens/register", register).status == 200)
            _ = await world.save("c")
            #expect(await world.notifications(courier).count == 1)
        },
        ConformanceCheck("2.12 the address of a courier ends with its session") { world in
            let courier = await world.courier()
            async let waiting = world.send("GET", courier)
            try await world.fixture.waitForListeners()
            _ = await world.subscribe(
                #"{"subscriptionID":"z","subscriptionType":"zone","zoneID":{"zoneName":"Z"}}"#)
            let writer = try await world.fixture.hub.accounts.signIn(
                "Ada", container: HubFixture.container, environment: "development")
            #expect(try await world.fixture.hub.accounts.revoke(world.fixture.ada.webAuthToken))
            _ = await world.fixture.send(
                .modifyRecords, as: writer,
                body: Array(
                    """
                    {"operations":[{"operationType":"create","record":{"recordName":"a",
                    "recordType":"T"}}],"zoneID":{"zoneName":"Z"}}
                    """.utf8))
            // What was told meanwhile is not given out any more.
            #expect(await waiting.status == 404)
            #expect(await world.send("GET", courier).status == 404)
        },
    ]
}
